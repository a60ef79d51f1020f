"""Documents as ``graphzero bench`` writes them: a whole run with rivals, caps, losses and rows without a value."""

import math

MB, GB = 10**6, 10**9


def row(task, what, value, unit, **more):
    """Return a row with all of its keys, those not given empty."""
    keys = (
        "threads cache cap_bytes cap_proven peak_anonymous_bytes peak_group_bytes rss_bytes "
        "device_bytes device_reads iops hit_rate checked note x_best_rival"
    )
    empty = dict.fromkeys(keys.split())
    runs = [] if value is None else [value * 0.94, value * 0.97, value]
    ours = what.startswith("graphzero")
    facts = {"task": task, "what": what, "ours": ours, "value": value, "unit": unit, "higher_is_better": True}
    return facts | empty | {"runs": runs, "threads": 2, "cache": "warm"} | more


def part(name, title, question, rows, **more):
    """Return a part."""
    facts = {"name": name, "title": title, "question": question, "seconds": 12.4, "rows": rows}
    return facts | {"resident_before": 96 * MB, "resident_after": 138 * MB, "conditions": {}} | more


def memory(seconds, anonymous, cap):
    """Return samples of a run that fills its cap with page cache and stays below it."""
    samples = []
    for i in range(400):
        at = i / 399
        own = anonymous * min(1, at * 8) * (0.95 + 0.05 * math.sin(i / 9))
        samples.append([round(at * seconds, 3), int(own), int((cap - anonymous) * 0.93 * (1 - math.exp(-6 * at)))])
    return samples


def sampling():
    threads = [1, 2, 3, 4, 8, 16]
    legal = "every edge is an edge of the graph; fanouts hold"
    two, one, hop = "three hops, 2 threads", "three hops, 1 thread", "one hop of 10, as GraphZero 0.2 has it"
    return part(
        "sampling",
        "Sampling neighbourhoods",
        "How many edges a second does a three-hop sample give?",
        [
            row(two, "graphzero", 33.4e6, "edges/s", checked=legal, x_best_rival=35.2, rss_bytes=312 * MB),
            row(two, "torch-sparse", 0.949e6, "edges/s", checked=legal, rss_bytes=902 * MB),
            row(two, "GraphBolt", 0.61e6, "edges/s", checked=legal, rss_bytes=1104 * MB),
            row(two, "pyg-lib", None, "edges/s", note="not installed"),
            row(one, "graphzero", 17.9e6, "edges/s", threads=1, checked=legal, x_best_rival=19.4),
            row(one, "torch-sparse", 0.923e6, "edges/s", threads=1, checked=legal),
            row(hop, "graphzero", 61.2e6, "edges/s", checked=legal, x_best_rival=4.6),
            row(hop, "GraphZero 0.2", 13.3e6, "edges/s", checked=legal),
        ],
        conditions={"fanouts": "[15, 10, 5]", "batch": "1,024 seeds", "cache": "warm"},
        scaling={
            "threads": [
                {"what": "graphzero", "x": threads, "y": [17.9e6 * n**0.85 for n in threads], "unit": "edges/s"},
                {"what": "torch-sparse", "x": threads, "y": [0.92e6 * n**0.1 for n in threads], "unit": "edges/s"},
                {"what": "GraphBolt", "x": threads[1:], "y": [2.1e6 * n**0.6 for n in threads[1:]], "unit": "edges/s"},
            ],
            "size": [
                {
                    "what": "graphzero",
                    "x": [150_000, 300_000, 600_000, 3_000_000],
                    "y": [43e6, 41e6, 38e6, 33.4e6],
                    "unit": "edges/s",
                }
            ],
        },
    )


def walks():
    steps = "every step is an edge of the graph"
    return part(
        "walks",
        "Random walks",
        "How many steps a second?",
        [
            row("uniform, length 20", "graphzero", 88.1e6, "steps/s", checked=steps, x_best_rival=6.1),
            row("uniform, length 20", "torch-cluster", 14.4e6, "steps/s", checked=steps),
            row("uniform, length 20", "GraphZero 0.2", None, "steps/s", note="wrong: 12 of 20,480 steps are not edges"),
            row("node2vec p=0.5 q=2", "graphzero", 21.7e6, "steps/s", checked=steps, x_best_rival=9.9),
            row(
                "node2vec p=0.5 q=2",
                "PecanPy, its sparse on-the-fly mode, one process",
                2.2e6,
                "steps/s",
                checked=steps,
            ),
            row("node2vec p=0.5 q=2", "torch-cluster", None, "steps/s", note="stopped after 60 s, its time limit"),
        ],
        conditions={"cache": "warm"},
    )


def gather():
    equal = "rows equal the known features, byte for byte"
    warm, cold = "random rows, warm", "random rows, cold"
    device = {"cache": "cold", "device_bytes": 412 * MB, "device_reads": 100_612, "iops": 81_300.0}
    return part(
        "gather",
        "Gathering feature rows",
        "How many random rows a second, from the page cache and from the disk?",
        [
            row(warm, "graphzero", 4.1e6, "rows/s", checked=equal, x_best_rival=0.62),
            row(warm, "torch index_select in RAM", 6.6e6, "rows/s", checked=equal, note="holds all features in memory"),
            row(warm, "np.memmap", 2.9e6, "rows/s", checked=equal),
            row(cold, "graphzero", 201e3, "rows/s", checked=equal, x_best_rival=118.2, hit_rate=0.0, **device),
            row(cold, "np.memmap", 1.7e3, "rows/s", checked=equal, cache="cold", device_bytes=9.8 * GB),
        ],
        conditions={"rows": "512 bytes", "reader": "direct when cold"},
    )


def conversion():
    same = "the converted file equals the graph"
    return part(
        "conversion",
        "Converting an edge list",
        "How many edges a second from text to a graph that can be mounted?",
        [
            row(
                "edges.csv, 3 M edges",
                "graphzero",
                12.8e6,
                "edges/s",
                checked=same,
                peak_anonymous_bytes=211 * MB,
                x_best_rival=3.3,
            ),
            row(
                "edges.csv, 3 M edges",
                "polars and scipy",
                3.9e6,
                "edges/s",
                checked=same,
                peak_anonymous_bytes=1.4 * GB,
            ),
            row(
                "edges.csv, 3 M edges", "GraphZero 0.2", 0.31e6, "edges/s", checked=same, peak_anonymous_bytes=0.9 * GB
            ),
        ],
    )


def batches(name="batches", title="Whole batches", unit="batches/s"):
    right = "edges are edges of the graph, rows equal the known features"
    ram, twenty, ten = "in RAM", "memory capped at 20 % of the features", "memory capped at 10 % of the features"
    stages = {"sampling": 2.4, "reading": 0.9, "assembling": 1.6, "waiting": 0.4}
    capped = {"cache": "cold", "cap_proven": True, "hit_rate": 0.41}
    return part(
        name,
        title,
        "How many batches of 1,024 seeds a second, with and without enough memory?",
        [
            row(
                ram,
                "graphzero",
                61.0,
                unit,
                checked=right,
                rss_bytes=480 * MB,
                stages=stages,
                x_best_rival=7.7,
                memory=memory(3.0, 300 * MB, 1.6 * GB),
            ),
            row(ram, "PyG NeighborLoader", 7.9, unit, checked=right, rss_bytes=1.9 * GB),
            row(
                twenty,
                "graphzero",
                52.7,
                unit,
                checked=right,
                cap_bytes=256 * MB,
                peak_anonymous_bytes=140 * MB,
                peak_group_bytes=255 * MB,
                memory=memory(4.2, 140 * MB, 256 * MB),
                stages={"sampling": 2.5, "reading": 2.2, "assembling": 1.6, "waiting": 0.9},
                device_bytes=1.1 * GB,
                device_reads=268_000,
                iops=63_900.0,
                x_best_rival=61.3,
                **capped,
            ),
            row(twenty, "PyG NeighborLoader with np.memmap", 0.86, unit, checked=right, cap_bytes=256 * MB, **capped),
            row(
                ten,
                "graphzero",
                44.8,
                unit,
                checked=right,
                cap_bytes=128 * MB,
                peak_anonymous_bytes=92 * MB,
                peak_group_bytes=127.6 * MB,
                memory=memory(4.9, 92 * MB, 128 * MB),
                stages={"sampling": 2.5, "reading": 3.9, "assembling": 1.7, "waiting": 2.0},
                device_bytes=2.4 * GB,
                device_reads=586_000,
                iops=118_700.0,
                **capped,
            ),
            row(
                ten,
                "PyG NeighborLoader with np.memmap",
                None,
                unit,
                cap_bytes=128 * MB,
                cap_proven=True,
                note="killed at its limit",
            ),
        ],
        conditions={"batch": "1,024", "fanouts": "[15, 10, 5]"},
    )


def bench_document():
    """Return the document of a quick run with every part."""
    training = batches("training", "Training GraphSAGE", "batches/s")
    training["rows"] = training["rows"][:3]
    return {
        "graphzero_bench": 1,
        "started": "2026-11-15T20:00:00+00:00",
        "seconds": 97.2,
        "quick": True,
        "command": "graphzero bench --quick --output out",
        "machine": {
            "cpu": "Intel Xeon Platinum 8481C at 2.70 GHz",
            "architecture": "x86_64",
            "cores": 2,
            "ram_bytes": 25_276_518_400,
            "ram_available_bytes": 22_800_000_000,
            "free": {
                "total": 25_276_518_400,
                "used": 2_100_000_000,
                "free": 18_000_000_000,
                "shared": 4_000_000,
                "buff/cache": 5_100_000_000,
                "available": 22_800_000_000,
            },
            "kernel": "6.1.0-31-cloud-amd64",
            "os": "Debian GNU/Linux 12",
            "disk": {
                "device": "vda",
                "model": "unknown",
                "file_system": "ext4",
                "read_ahead_kb": 128,
                "rotational": False,
                "free_bytes": 61 * GB,
            },
            "cgroup_version": 2,
            "control_groups": True,
        },
        "versions": {
            "graphzero": "0.3.0",
            "commit": "abc1234",
            "python": "3.11.7",
            "numpy": "2.3.1",
            "torch": "2.13.0",
            "torch_geometric": "2.8.1",
            "pyg_lib": None,
        },
        "data": {
            "path": "bench-data/blocks-200k",
            "kind": "blocks",
            "num_nodes": 200_000,
            "num_edges": 3_000_000,
            "num_features": 1600,
            "feature_dtype": "float32",
            "feature_bytes": 1_280_000_000,
            "graph_bytes": 38 * MB,
            "num_classes": 16,
            "seconds_to_make": 3.1,
        },
        "settings": {"fanouts": [15, 10, 5], "batch_size": 1024, "threads": 2, "caps": [20, 10], "seed": 1},
        "parts": [sampling(), walks(), gather(), conversion(), batches(), training],
        "notes": ["pyg-lib: not installed", "GraphZero 0.2: walks were wrong, so they have no time"],
    }


def with_rows(*rows):
    """Return a document of one part."""
    return {"parts": [part("sampling", "Sampling", "How fast?", list(rows))]}
