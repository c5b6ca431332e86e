# SPDX-License-Identifier: Apache-2.0
"""Runs Google Benchmark programs and reads what they measure."""

import json
import os
import subprocess
import tempfile

from harness.paths import ROOT, program

# name -> what it measures
PROGRAMS = {
    "sampling_bench": "sampling methods, walks and relabelling, in one thread",
    "kernel_bench": "small kernels for bench/guard: rows, requests in messages, updates",
    "row_cache_bench": "epochs and rows over TCP, with and without a row cache",
    "transfer_bench": "rows, hops and batches of a daemon, mapped and over sockets; attaching",
    "first_batches_bench": "the first batches after a trainer has attached, and later ones",
    "store_bench": "pushes to a table, its recovery, and reads, without a daemon",
    "tensor_bench": "steps of an embedding that a daemon serves, and recovery of the daemon",
    "cold_embedding_bench": "the first epoch over a new embedding, and the next one",
    "bounded_embedding_bench": "an embedding of four times the memory that it may use",
    "tls_stream_bench": "a stream of bytes with and without TLS",
    "tls_transfer_bench": "rows and batches over TCP with and without TLS",
    "python_bench": "epochs of a loader in Python, compared with C++",
    "inference_bench": "layerwise inference, compared with the bare gather and computation",
    "parquet_bench": "graphctl partition's reading of Parquet and CSV, compared with reads alone",
}
# The programs that are written in Python: name -> file below bench, and what they need of a build.
SCRIPTS = {
    "python_bench": ("client/python_bench.py", ("loader_bench", "graphd_python")),
    "inference_bench": ("client/inference_bench.py", ("graphd_python",)),
    "parquet_bench": ("format/parquet_bench.py", ("graphctl",)),
}
STANDARD = frozenset(
    [
        "name",
        "family_index",
        "per_family_instance_index",
        "run_name",
        "run_type",
        "repetitions",
        "repetition_index",
        "threads",
        "iterations",
        "real_time",
        "cpu_time",
        "time_unit",
        "label",
        "error_occurred",
        "error_message",
        "aggregate_name",
        "aggregate_unit",
        "bytes_per_second",
        "items_per_second",
    ]
)
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


class Interrupted(Exception):
    """Ctrl-C while a program ran. The lines that it had measured before were already passed on."""


def ratio_name(counters):
    """Returns the name of the counter that relates the result to its limit, or None."""
    for name in counters:
        if name == "of_limit":
            return name
    return next((name for name in counters if name.startswith("of_") or "_of_" in name), None)


def line_of(program, entry):
    """Converts an entry of Google Benchmark's JSON to a line of our table: program, name, seconds of
    an iteration, iterations, and, if the benchmark gives them, rate, limit and ratio. The limit is in
    the unit of the rate, or in seconds if there is no rate."""
    line = {"program": program, "name": entry["name"]}
    if entry.get("error_occurred"):
        return {**line, "error": entry.get("error_message", "failed without a message")}
    counters = {
        key: value
        for key, value in entry.items()
        if key not in STANDARD and isinstance(value, (int, float))
    }
    line.update(
        seconds=entry["real_time"] * SECONDS[entry["time_unit"]],
        iterations=entry["iterations"],
        counters=counters,
    )
    if entry.get("label"):
        line["label"] = entry["label"]
    # A rate of a plain loop is a limit, not a result. A rate in rows says more than one in bytes.
    rates = [name for name in counters if name.endswith("/s") and "loop" not in name]
    rate = next((name for name in rates if name != "bytes/s"), rates[0] if rates else None)
    ratio = ratio_name(counters)
    if rate:
        line.update(rate=counters[rate], unit=rate)
    if ratio and counters[ratio] > 0:
        value = line["rate"] if rate else line["seconds"]
        line.update(
            ratio=counters[ratio],
            ratio_to=ratio,
            limit=value / counters[ratio] if rate else value * counters[ratio],
        )
    return line


def entries_of(text):
    """Yields the entries of Google Benchmark's JSON, whole or cut off, as far as they are complete."""
    begin = text.find('"benchmarks"')
    begin = text.find("[", begin) + 1 if begin >= 0 else 0
    decoder = json.JSONDecoder()
    while begin > 0:
        at = text.find("{", begin)
        if at < 0:
            return
        try:
            entry, begin = decoder.raw_decode(text, at)
        except ValueError:
            return
        if entry.get("run_type", "iteration") == "iteration":
            yield entry


def targets(name):
    """Returns the targets of a build that a program consists of."""
    return SCRIPTS[name][1] if name in SCRIPTS else (name,)


def command_of(build, name):
    """Returns the command that runs a program of a build. Exits if it is not there."""
    if name not in SCRIPTS:
        return [program(build, name)]
    # scripts/setup makes an interpreter that has pyarrow, too.
    own = os.path.join(ROOT, "build", "python", "bin", "python3")
    python = own if os.access(own, os.X_OK) else "/usr/bin/python3"
    return [python, os.path.join(ROOT, "bench", SCRIPTS[name][0]), "--build", build]


def name_of(command):
    """Returns the name of the program that a command runs."""
    files = [word for word in command if word.endswith(".py")]
    return os.path.basename((files or command)[0]).removesuffix(".py")


def names(command, pattern=""):
    """Lists the benchmarks of a program whose names match."""
    done = subprocess.run(
        [*command, "--benchmark_list_tests=true", f"--benchmark_filter={pattern or '.'}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise OSError(
            f"it cannot list its benchmarks (exit code {done.returncode}): "
            f"{done.stderr.strip()[-500:]}"
        )
    return [
        line for line in done.stdout.split("\n") if line and not line.startswith("Failed to match")
    ]


def measure(command, pattern="", arguments=()):
    """Runs a program; yields a line for each of its benchmarks as soon as it is measured.

    A benchmark that fails is a line with "error", and so is each that is not measured because the
    program ended. Raises Interrupted on Ctrl-C.
    """
    name = name_of(command)
    try:
        wanted = names(command, pattern)
    except OSError as error:
        yield {"program": name, "name": name, "error": str(error)}
        return
    if not wanted:
        return
    command = [*command, "--benchmark_format=json", f"--benchmark_filter={pattern or '.'}", *arguments]
    text, done, interrupted = "", 0, False
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        try:
            for piece in process.stdout:
                text += piece
                if piece.strip() in ("}", "},"):
                    found = list(entries_of(text))
                    for entry in found[done:]:
                        yield line_of(name, entry)
                    done = len(found)
        except KeyboardInterrupt:
            interrupted = True
            process.terminate()
        code = process.wait()
        errors.seek(0)
        said = errors.read().strip()[-500:]
    if interrupted:
        raise Interrupted
    measured = {entry["name"] for entry in entries_of(text)}
    if code:
        reason = f"the program ended with exit code {code}: {said}"
        missing = [
            each
            for each in wanted
            if each not in measured and not any(one.startswith(each + "/") for one in measured)
        ]
        for each in missing or [name]:
            yield {"program": name, "name": each, "error": reason}
