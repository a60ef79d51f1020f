"""``graphzero train``: nodes, links or embeddings of a data set. docs/guide/train-from-the-shell.md shows all."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import graphzero as gz
from graphzero._base.argument_errors import check_choice, value_error
from graphzero.cli import train_config
from graphzero.cli.console import JsonOption, print_facts, print_json, print_lines, spinner
from graphzero.cli.fanouts import FANOUTS, read_fanouts
from graphzero.cli.train_begin import OF_LINKS, begun, loaded, resumed
from graphzero.cli.train_embeddings import train_embeddings, walk_settings
from graphzero.cli.train_logs import EpochRows, LogOptions, columns_of, epoch_row
from graphzero.cli.train_loop import trained
from graphzero.cli.train_outputs import Wanted
from graphzero.cli.train_summary import (
    evaluation_document,
    evaluation_rows,
    report_lines,
    training_document,
    training_rows,
)
from graphzero.train.settings import Settings
from graphzero.train.walk_settings import WalkSettings

if TYPE_CHECKING:
    from graphzero.train.run import Run

_PLAIN = Settings()
_WALKS = WalkSettings()
# Options by what they are for; where that is not asked for, they are refused.
_OF_PREDICTIONS = ("predict_split", "scores", "inference")
_OF_TRAINING = ("checkpoints", "resume", "log", "tensorboard", "wandb", "test_each_epoch", "save_config")
_OF_MODELS = ("target", "evaluate", "predict", *_OF_PREDICTIONS, "report", "test_each_epoch", "checkpoints", "resume")
# Where results go, which are there after a run, and what means nothing without them.
_PLACES = ("checkpoints", "log", "tensorboard", "predict", *_OF_PREDICTIONS, "embeddings_out")
_OF_WALKS = ("walk_length", "context_size", "walks", "p", "q", "embeddings_out")


def _option(help: str, otherwise: Any) -> Any:
    """Make an option that is ``None`` if it is not given, because a resumed run has its own values."""
    return typer.Option(help=f"{help}. Default: {otherwise}.")


def train(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A data set folder.", show_default=False)],
    task: Annotated[str | None, _option("nodes, links or embeddings", "nodes")] = None,
    model: Annotated[str | None, _option("sage, gcn or gat", _PLAIN.model)] = None,
    fanouts: Annotated[
        str | None, _option("Neighbours to draw per node at each hop, -1 for all; one layer per hop", FANOUTS)
    ] = None,
    hidden: Annotated[
        int | None, _option("Width of the layers, or of embeddings", f"{_PLAIN.hidden}; embeddings: {_WALKS.hidden}")
    ] = None,
    heads: Annotated[int | None, _option("Attention heads of gat", _PLAIN.heads)] = None,
    dropout: Annotated[float | None, _option("Share of values to drop between layers", _PLAIN.dropout)] = None,
    epochs: Annotated[int | None, _option("Number of epochs", f"{_PLAIN.epochs}; embeddings: {_WALKS.epochs}")] = None,
    batch_size: Annotated[
        int | None,
        _option("Training nodes or edges per step", f"{_PLAIN.batch_size}; embeddings: {_WALKS.batch_size}"),
    ] = None,
    learning_rate: Annotated[
        float | None,
        _option("Adam's learning rate", f"{_PLAIN.learning_rate}; embeddings: {_WALKS.learning_rate}"),
    ] = None,
    weight_decay: Annotated[float | None, _option("Adam's weight decay", _PLAIN.weight_decay)] = None,
    target: Annotated[
        str | None, typer.Option(metavar="TYPE", help="The node type to classify, if several have labels.")
    ] = None,
    edge_type: Annotated[
        str | None,
        typer.Option(metavar="A,REL,B", help="The edges to predict, or to walk along, if there are several types."),
    ] = None,
    held_out: Annotated[
        float | None,
        _option("links: share of the edges to measure on, if the data set has no splits of edges", _PLAIN.held_out),
    ] = None,
    negatives: Annotated[
        int | None, _option("links, embeddings: negatives for each edge, or window of a walk", _PLAIN.negatives)
    ] = None,
    rank_negatives: Annotated[
        int | None, _option("links: negatives that an edge is ranked among", _PLAIN.rank_negatives)
    ] = None,
    walk_length: Annotated[int | None, _option("embeddings: nodes of a walk", _WALKS.walk_length)] = None,
    context_size: Annotated[int | None, _option("embeddings: nodes of a window of a walk", _WALKS.context_size)] = None,
    walks: Annotated[int | None, _option("embeddings: walks from each node", _WALKS.walks)] = None,
    p: Annotated[float | None, _option("embeddings: node2vec's p; walks go back with weight 1/p", _WALKS.p)] = None,
    q: Annotated[float | None, _option("embeddings: node2vec's q; walks go away with weight 1/q", _WALKS.q)] = None,
    embeddings_out: Annotated[
        Path | None, typer.Option(metavar="FILE.gd", help="embeddings: where to write them.")
    ] = None,
    memory: Annotated[
        str | None, _option("Memory limit of the loaders, such as 4GB", "half of what is available")
    ] = None,
    reader: Annotated[str | None, _option("How to read features: auto, mmap, direct or pread", _PLAIN.reader)] = None,
    threads: Annotated[int | None, _option("Threads of the loaders", "one per core")] = None,
    device: Annotated[str | None, _option("Device of the model, such as cuda", _PLAIN.device)] = None,
    seed: Annotated[int | None, _option("The same seed trains the same weights", _PLAIN.seed)] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Take options from a .toml, .yaml or .json file; those of the command line win.",
            callback=train_config.read_config,
            is_eager=True,
        ),
    ] = None,
    save_config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the options of this training to such a file.")
    ] = None,
    log: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a row per epoch to a .csv, .jsonl or .json file.")
    ] = None,
    tensorboard: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write each epoch for TensorBoard. Needs graphzero[tensorboard].")
    ] = None,
    wandb: Annotated[
        str | None,
        typer.Option(metavar="PROJECT", help="Send each epoch to Weights & Biases. Needs graphzero[wandb]."),
    ] = None,
    test_each_epoch: Annotated[
        bool, typer.Option("--test-each-epoch", help="Measure the split test after each epoch, for the log.")
    ] = False,
    report: Annotated[
        bool, typer.Option("--report", help="Print precision and recall of each class at the end.")
    ] = False,
    evaluate: Annotated[
        Path | None,
        typer.Option("--eval", metavar="CHECKPOINT", help="Measure a checkpoint on all splits instead of training."),
    ] = None,
    predict: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the class of every node to a .gd, .parquet or .csv file."),
    ] = None,
    predict_split: Annotated[
        str | None, typer.Option(metavar="NAME", help="Predict the nodes of a split, such as test, alone.")
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Also write the probability of each class; to .gd, only that.")
    ] = False,
    inference: Annotated[
        str | None,
        typer.Option(
            metavar="HOW", help="How to predict: sample neighbours, or layers, with all of them. Default: sample."
        ),
    ] = None,
    checkpoints: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write checkpoints here: last.pt and best.pt.")
    ] = None,
    every: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="How often to write a checkpoint, besides after each epoch.")
    ] = 60,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the checkpoint; options not given keep their values.")
    ] = False,
    json: JsonOption = False,
) -> int:
    """Train a model on a data set folder, to classify nodes, predict links or embed nodes; or measure a checkpoint."""
    options = {
        "task": task, "model": model, "fanouts": None if fanouts is None else tuple(read_fanouts(fanouts)),
        "hidden": hidden, "heads": heads, "dropout": dropout, "epochs": epochs, "batch_size": batch_size,
        "learning_rate": learning_rate, "weight_decay": weight_decay, "memory": memory, "reader": reader,
        "threads": threads, "device": device, "seed": seed, "held_out": held_out, "negatives": negatives,
        "rank_negatives": rank_negatives,
    }  # fmt: skip
    given = {name: value for name, value in options.items() if value is not None}
    logs = LogOptions(log, tensorboard, wandb)
    check_choice("nodes" if task is None else task, "task", "nodes", "links", "embeddings")
    if save_config is not None:
        train_config.check_new(save_config)
    if task == "embeddings":
        _refuse(context, _OF_MODELS, "with --task embeddings")
        of_walks = {"walk_length": walk_length, "context_size": context_size, "walks": walks, "p": p, "q": q}
        given |= {name: value for name, value in of_walks.items() if value is not None}
        settings = walk_settings(given)
        code = train_embeddings(folder, edge_type, settings, embeddings_out, logs, json=json)
        if save_config is not None:
            train_config.save_config(save_config, {"task": task, **asdict(settings), **_others(context, settings)})
        return code
    _refuse(context, _OF_WALKS, "without --task embeddings")
    if predict is None:
        _refuse(context, _OF_PREDICTIONS, "without --predict")
    begin = time.perf_counter()
    wanted = Wanted(predict, predict_split, scores, inference or "sample", report)
    with gz.open(folder) as data, ExitStack() as stack:
        if evaluate is not None:
            _refuse(context, _OF_TRAINING, "with --eval, which does not train")
            run, checkpoint = loaded(data, edge_type or target, given, evaluate)
            stack.callback(run.close)
            wanted.check(run)
            _measure(run)
            document = evaluation_document(run, checkpoint, time.perf_counter() - begin)
            rows = evaluation_rows
        else:
            if task == "links" or edge_type is not None:
                _refuse(context, ("target",), "with links, which --edge-type names")
            if task != "links" and not resume:
                _refuse(context, ("edge_type",), "without --task links or embeddings")
            logs.check(resumed=resume)
            wanted.check_out()
            run, kept = (resumed if resume else begun)(data, edge_type or target, given, checkpoints)
            stack.callback(run.close)
            wanted.check(run)
            done = [epoch_row(one) for one in run.history]
            sinks = logs.sinks(stack, columns_of(run), done, {"path": data.path, **asdict(run.settings)})
            if save_config is not None:
                train_config.save_config(save_config, {**_saved_settings(run), **_others(context, run.settings)})
            facts = trained(run, kept, every, EpochRows(sinks, logs.words), json=json, test_each_epoch=test_each_epoch)
            document = training_document(run, facts, kept, time.perf_counter() - begin)
            rows = training_rows
        wanted.add_to(document, run)
    if json:
        print_json(document)
        return 0
    print_facts(os.fspath(folder), rows(document))
    if report:
        print_lines(f"classes of the split {document['report']['split']}", report_lines(document["report"]))
    return 0


def _refuse(context: typer.Context, names: tuple[str, ...], reason: str) -> None:
    """Refuse options that mean nothing here: someone expects them to do something."""
    for name in names:
        if (value := context.params[name]) is not None and value is not False:
            found = "" if value is True else f", found {value}"
            raise value_error(name, f"expected none {reason}{found}")


def _saved_settings(run: Run) -> dict[str, Any]:
    settings = asdict(run.settings)
    return {name: value for name, value in settings.items() if run.settings.task == "links" or name not in OF_LINKS}


def _others(context: typer.Context, settings: Any) -> dict[str, Any]:
    """Return the options given that are neither settings nor places of results, such as ``report``."""
    known = {field.name for field in fields(settings)} | {"task", "folder", "config", "save_config", "resume", "json"}
    known.update(_PLACES)
    return {
        name: value
        for name, value in context.params.items()
        if name not in known and value is not None and value is not False
    }


def _measure(run: Run) -> None:
    """Measure all splits; that links are trained on is shown to the model, and says nothing."""
    for split in run.task.splits:
        if split != "train" or run.settings.task == "nodes":
            with spinner(f"measuring {split}"):
                for _ in run.evaluate(split):
                    pass
