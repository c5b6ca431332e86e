# SPDX-License-Identifier: Apache-2.0
"""The reasons why a run misses targets: texts with numbers of the same run. A reason says which share of
the machine's limit graphd reaches, and where the rest goes."""

from harness import table

from systems import results
from systems.rows import EMBEDDING_ROWS, EMBEDDING_STEPS, OURS, SCALED

BYTES_OF_SEED = 5  # in a request and its answer, where a type has less than 2^32 nodes
REACHED = 0.995  # of a target: what the page shows as 1.00


def missed(run):
    """Returns (title of the row, share of the target, reason) of each target that is not reached."""
    found, numbers = [], Numbers(run)
    for row in run["rows"]:
        ours = row["values"].get(OURS, {}).get("value")
        if not ours or not row["target"]:
            continue
        share = results.better(row, ours, row["target"])
        if share < REACHED:
            sentences = [_of_limit(row, ours), _scaled(row, ours), *REASONS[row["name"]](numbers)]
            text = " ".join(filter(None, sentences)) or "nothing else was measured of it."
            found.append((results.title(row), share, text))
    return found


def _of_limit(row, ours):
    """Returns what the limit allows, and which share of it graphd reaches."""
    if not row["limit"]:
        return ""
    limit = table.quantity(row["limit"], row["unit"])
    share = f"{results.better(row, ours, row['limit']):.2f}"
    allowed = results.better(row, row["limit"], row["target"])
    if allowed < REACHED:
        return (
            f"the limit, {limit}, is itself {allowed:.2f} of the target; graphd reaches {share} of the "
            f"limit."
        )
    return f"graphd reaches {share} of the limit, {limit}."


def _scaled(row, ours):
    """Returns what of the nominal target is reached, if the target here is another one."""
    if row["nominal_is"] != SCALED:
        return ""
    share = results.better(row, ours, row["nominal"])
    return f"Of the nominal target, {results.nominal(row)}, it reaches {share:.2f}."


class Numbers:
    """The values and limits of a run by name: None if it has not measured them."""

    def __init__(self, run):
        self.values = dict(run["parts"])
        self.limits = dict(run["limits"])
        for row in run["rows"]:
            self.values[row["name"]] = row["values"].get(OURS, {}).get("value")
            self.limits[row["name"]] = row["limit"]
        self.processors = run["machine"]["processors"]

    def __getitem__(self, name):
        return self.values.get(name)

    def limit(self, name):
        return self.limits.get(name)


def sentence(form, **numbers):
    """Returns a sentence with numbers, or nothing if one of them was not measured. A number is a pair
    of a value and its unit."""
    if any(value is None for value, _ in numbers.values()):
        return ""
    return form.format(**{key: table.quantity(*number) for key, number in numbers.items()})


def less(a, b):
    """Returns a - b, or None if one of them was not measured, or if the difference is noise."""
    return None if a is None or b is None or a < b else a - b


def per(a, b):
    """Returns a / b, or None if one of them was not measured."""
    return None if a is None or not b else a / b


def _partition(n):
    whole, reading, limit = n["partition"], n["partition_reading"], n.limit("partition")
    yield sentence(
        "Of {whole}, {reading} are the reading of the edges, and the others their assignment, their "
        "sorting and the writing; to read all input and to write all output in one go takes {limit}.",
        whole=(whole, "s"), reading=(reading, "s"), limit=(limit, "s"))  # fmt: skip


def _start(name):
    def reason(n):
        loading = n[name + "_loading"]
        yield sentence(
            "The partition is loaded in {loading}, and the process starts, and opens its sockets and "
            "its state, in {rest}.",
            loading=(loading, "s"), rest=(less(n[name], loading), "s"))  # fmt: skip
        if name == "start_cold":
            yield sentence(
                "With the files in the page cache it is ready in {warm}: the disk adds {more}, and to "
                "read the files from it with one thread takes {limit}.",
                warm=(n["start"], "s"), more=(less(n[name], n["start"]), "s"),
                limit=(n.limit("read_cold"), "s"))  # fmt: skip

    return reason


def _restart(n):
    yield sentence("A start without kept memory takes {start}.", start=(n["start"], "s"))


def _attach(suffix):
    def reason(n):
        batch, later = n["attach_batch" + suffix], n["attach_later" + suffix]
        yield sentence(
            "The connection and the answer of the daemons take {connect}, opening the graph with its "
            "book {open}, and the first batch {batch}. The same batch takes {later} once its memory "
            "was used; in the first one, {faults} are touched for the first time.",
            connect=(n["attach_connect" + suffix], "s"), open=(n["attach_open" + suffix], "s"),
            batch=(batch, "s"), later=(later, "s"),
            faults=(n["attach_faults" + suffix], "pages"))  # fmt: skip

    return reason


def _first_batches(suffix):
    def reason(n):
        first, later = (per(1, n[name + suffix]) for name in ("first_batches", "later_batches"))
        yield sentence(
            "One of the first batches takes {first}, and a later one {later}; in the first ones, "
            "{faults} are touched for the first time.",
            first=(first, "s"), later=(later, "s"),
            faults=(n["first_batches_faults" + suffix], "pages"))  # fmt: skip

    return reason


def _sampling(n):
    kernel, plain, whole = (
        per(1, n[name]) for name in ("sample_kernel", "sample_2_plain", "sample_2")
    )
    yield sentence(
        "An edge takes {whole}: {kernel} of it are the kernel's, which draws {rate} for seeds that are "
        "spread over the graph, and in {rest} the nodes are relabelled, with about as many random "
        "accesses to a hash table, and blocks and tensors are made.",
        whole=(whole, "s"), kernel=(kernel, "s"), rate=(n["sample_kernel"], "edges/s"),
        rest=(less(plain, kernel), "s"))  # fmt: skip
    yield sentence(
        "The ids of edges, which are read on first use, take {ids}.", ids=(less(whole, plain), "s")
    )


def _sampling_tcp(n):
    far, near = per(1, n["sample_2_tcp"]), per(1, n["sample_2"])
    yield sentence(
        "An edge takes {far}, and {near} where the trainer maps the memory: {more} are the requests, "
        "the copies and two passes of {bytes} through sockets.",
        far=(far, "s"), near=(near, "s"), more=(less(far, near), "s"),
        bytes=(n["wire_per_edge"], "B"))  # fmt: skip
    yield sentence("Without the ids of edges it is {plain}.", plain=(n["sample_2_plain_tcp"], "edges/s"))
    yield f"Servers and trainer share {n.processors} processors."


def _rows(n):
    row, limit = per(1, n["rows_local"]), per(1, n.limit("rows_local"))
    yield sentence(
        "A row takes {row}, and {limit} in the bare gather, which reads private memory and writes to "
        "memory that is used again; graphd reads memory that processes share, and makes a tensor.",
        row=(row, "s"), limit=(limit, "s"))  # fmt: skip


def _remote_rows(n):
    row, limit = per(1, n["rows_remote"]), per(1, n.limit("rows_remote"))
    yield sentence(
        "A row takes {row}, and {limit} in the limit, which sends memory that is ready and copies in "
        "two threads; a row that is mapped takes {near}.",
        row=(row, "s"), limit=(limit, "s"), near=(per(1, n["rows_local"]), "s"))  # fmt: skip
    yield f"Servers and trainer share {n.processors} processors."


def _step(n):
    step, loop = (per(EMBEDDING_ROWS, each) for each in (n["embedding_step"], n.limit("step")))
    own = n["embedding_step_own"]
    yield sentence(
        "A step takes {step}, and a loop that applies gradients that are ready {loop}; the other {rest} "
        "are the way to the server and back.",
        step=(step, "s"), loop=(loop, "s"), rest=(less(step, loop), "s"))  # fmt: skip
    yield sentence(
        "The trainer computes for {own} of the step: it adds up the gradients of equal rows, and copies "
        "and sends them.",
        own=(own, "s"))  # fmt: skip


def _cold(n):
    steps = EMBEDDING_STEPS // 4
    created, cold = n["embedding_created"], n["embedding_cold_steps"]
    warm = per(steps * EMBEDDING_ROWS, n["embedding_step"])
    yield sentence(
        f"The creation takes {{created}}, and the first {steps} steps {{cold}}, of which {{more}} are "
        "what they take more than as many warm ones.",
        created=(created, "s"), cold=(cold, "s"), more=(less(cold, warm), "s"))  # fmt: skip
    yield sentence(
        "The limit touches the memory of the whole table in {touch}, and applies the steps in {loop}.",
        touch=(n.limit("touch"), "s"),
        loop=(per(steps * EMBEDDING_ROWS, n.limit("step")), "s"))  # fmt: skip


def _workers(name):
    def reason(n):
        yield sentence(
            "It is {none} without a worker, {one} with one, and {two} with two, which share "
            f"{n.processors} processors with the trainer.",
            none=(n["loader_0"], "batches/s"), one=(n["loader_1"], "batches/s"),
            two=(n["loader_2"], "batches/s"))  # fmt: skip
        if name == "loader_1":
            yield sentence(
                "A batch takes {batch}, and {limit} to sample its edges and to gather its rows.",
                batch=(per(1, n[name]), "s"), limit=(per(1, n.limit(name)), "s"))  # fmt: skip

    return reason


def _epoch(suffix):
    def reason(n):
        whole, within = n["epoch" + suffix], n["epoch_compute_within" + suffix]
        alone = n["epoch_compute" + suffix]
        yield sentence(
            "The model computes for {within} of {whole}, {more} more than alone, because others use the "
            "processors, caches and memory, too; for {rest} the trainer waits for batches.",
            within=(within, "s"), whole=(whole, "s"), more=(less(within, alone), "s"),
            rest=(less(whole, within), "s"))  # fmt: skip
        yield f"One worker, the model and the servers share {n.processors} processors."

    return reason


def _least(n):
    yield sentence(
        "{ids} of it are ids of sources; the rest is the offsets of the nodes' edges, and what files "
        "have besides.",
        ids=(n.limit("least_per_edge"), "B"))  # fmt: skip


def _wire(n):
    whole, messages = n["wire_plain_per_edge"], n["wire_plain_per_edge_messages"]
    seeds = n["wire_plain_per_edge_seeds"]
    of_seeds = None if seeds is None else BYTES_OF_SEED * seeds
    yield sentence(
        f"4 B are the source's id. A seed takes {BYTES_OF_SEED} B, 4 of its id and 1 of the number of "
        "its edges; it has {edges} here, which makes {seeds} for each, and {least} if it had all 10 of "
        "the fanout. The structure of messages takes {structure}, and calls and the headers of TCP and "
        "IP {headers}.",
        edges=(per(1, seeds), "edges"), least=(BYTES_OF_SEED / 10, "B"), seeds=(of_seeds, "B"),
        structure=(less(less(messages, 4), of_seeds), "B"),
        headers=(less(whole, messages), "B"))  # fmt: skip
    yield sentence(
        "With the ids of edges, which are sent when they are first used, it is {more}.",
        more=(n["wire_per_edge"], "B"))  # fmt: skip


REASONS = {
    "partition": _partition,
    "start": _start("start"),
    "start_cold": _start("start_cold"),
    "restart": _restart,
    "attach": _attach(""),
    "attach_tcp": _attach("_tcp"),
    "first_batches": _first_batches(""),
    "first_batches_tcp": _first_batches("_tcp"),
    "sample_2": _sampling,
    "sample_2_tcp": _sampling_tcp,
    "rows_local": _rows,
    "rows_remote": _remote_rows,
    "embedding_step_cold": _cold,
    "embedding_step": _step,
    "loader_1": _workers("loader_1"),
    "loader_2": _workers("loader_2"),
    "epoch": _epoch(""),
    "epoch_tcp": _epoch("_tcp"),
    "least_per_edge": _least,
    "wire_plain_per_edge": _wire,
}
