"""One kernel on GraphX: ``python graphx.py KERNEL FILE OUT ITERATIONS THREADS RUNS HEAP``.

GraphX is part of PySpark, but has no Python of its own: its Scala is called through PySpark's gateway.
Reads an edge list, runs once more than RUNS to warm up, as often as time allows, and writes the
answer to OUT as text. The last line that it prints is JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time

from pyspark import StorageLevel
from pyspark.sql import SparkSession


def started(threads: str, heap: str):
    """Starts Spark in this process, on so many threads, listening on the loopback only."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master(f"local[{threads}]")
    settings = {
        "spark.driver.memory": heap,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate().sparkContext


def kernels(jvm, graph, tag, iterations):
    """Graphs whose vertices have the answers; `tag` is Scala's name of the type of vertices and edges."""
    lib = jvm.org.apache.spark.graphx.lib
    return {
        "pagerank": lambda: lib.PageRank.run(graph, iterations, 0.15, tag, tag),
        "wcc": lambda: lib.ConnectedComponents.run(graph, tag, tag),
        "triangles": lambda: lib.TriangleCount.run(graph, tag, tag),
    }


def peak(spark):
    """Peak memory of Spark's own process in bytes. This process only waits for it."""
    with open(f"/proc/{spark._gateway.proc.pid}/status") as status:
        (line,) = (line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def main():
    kernel, file, out, iterations, threads, runs, heap = sys.argv[1:8]
    budget = float(os.environ.get("NAKSHI_BENCH_SECONDS", "120"))
    spark = started(threads, heap)
    jvm = spark._jvm
    tag = getattr(getattr(jvm, "scala.reflect.ClassTag$"), "MODULE$").Int()
    level = spark._getJavaStorageLevel(StorageLevel.MEMORY_AND_DISK)
    began = time.perf_counter()
    # TriangleCount takes each edge once, from the lower id to the higher.
    canonical = kernel == "triangles"
    loader = jvm.org.apache.spark.graphx.GraphLoader
    graph = loader.edgeListFile(spark._jsc.sc(), file, canonical, int(threads), level, level)
    graph.edges().count()
    graph.vertices().count()
    load = time.perf_counter() - began
    work = kernels(jvm, graph, tag, int(iterations))[kernel]
    seconds: list[float] = []
    while len(seconds) <= int(runs) and sum(seconds) < budget:
        began = time.perf_counter()
        answer = work()
        answer.vertices().count()
        seconds.append(time.perf_counter() - began)
    answer.vertices().saveAsTextFile(out)
    print(json.dumps({"load": load, "seconds": seconds[1:] or seconds, "peak": peak(spark)}))


if __name__ == "__main__":
    main()
