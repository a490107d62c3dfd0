"""NetworkX backend ``nakshi``: functions of NetworkX that run on stores.

NetworkX finds the backend by the entry points of the package; nothing here is imported by hand.

- ``info``: what NetworkX reads at import: names of functions, defaults of the configuration.
- ``interface``: the backend: conversion, and each function under NetworkX's name.
- ``offers``: arguments that a function takes, and the reasons for refusals.
- ``view``: one face for stores and converted graphs. ``mapping``: results of stores as mappings.
- ``traversal``, ``paths``, ``distances``, ``components``, ``structure``, ``communities``,
  ``centrality``, ``links``, ``clusters``, ``degrees``, ``prediction``, ``readers``: the functions.
"""
