"""``completion``: the script that completes commands, options and their values in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes nakshi in SHELL.

    \b
    bash:  nakshi completion bash > ~/.local/share/bash-completion/completions/nakshi
    zsh:   nakshi completion zsh > ~/.zfunc/_nakshi     (~/.zfunc must be in fpath)
    fish:  nakshi completion fish > ~/.config/fish/completions/nakshi.fish
    """
    from . import COMPLETE, nakshi

    found = get_completion_class(shell)
    assert found is not None, shell
    click.echo(found(nakshi, {}, "nakshi", COMPLETE).source())
