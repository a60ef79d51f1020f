"""LightningDataModule hands loaders to a Trainer. Without Lightning a stand-in has the hooks that it would call."""

import functools
import importlib
import pickle
import subprocess
import sys
import types
import warnings

import numpy as np
import pytest
import torch

import graphzero as gz
from data_sets import pyg

PACKAGES = ("lightning.pytorch", "pytorch_lightning")
MODULE = "graphzero.loaders.lightning"


class StandIn:
    """The part of Lightning's class that ours relies on: a base that takes no arguments, and hooks."""

    def train_dataloader(self):
        raise NotImplementedError

    val_dataloader = test_dataloader = predict_dataloader = train_dataloader

    def teardown(self, stage):
        """Do nothing."""

    def on_exception(self, exception):
        """Do nothing."""


def package(name):
    """A package whose data module is a stand-in of its own."""
    made = types.ModuleType(name)
    made.LightningDataModule = type("LightningDataModule", (StandIn,), {})
    return made


@functools.cache  # asked first before a stand-in takes the place
def found_package():
    """Lightning, if it is there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in PACKAGES:
            try:
                return importlib.import_module(name)
            except ModuleNotFoundError:
                continue
    return None


def imported_anew(monkeypatch):
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    return importlib.import_module(MODULE).LightningDataModule


@pytest.fixture
def module(monkeypatch):
    """The class, on the real package where there is one."""
    pyg()
    if found_package() is None:
        monkeypatch.setitem(sys.modules, "lightning", types.ModuleType("lightning"))
        monkeypatch.setitem(sys.modules, "lightning.pytorch", package("lightning.pytorch"))
    yield imported_anew(monkeypatch)
    sys.modules.pop(MODULE)


@pytest.fixture
def real(module):
    found = found_package()
    if found is None:
        pytest.skip("lightning is not installed")
    return found


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    with gz.DatasetWriter(tmp_path / "data") as writer:
        x = rng.random((60, 3), dtype=np.float32)
        writer.add_nodes({"x": x, "y": rng.integers(2, size=60)}, label="y", num_classes=2)
        writer.add_edges(*rng.integers(60, size=(2, 300)))
        writer.add_split("train", np.arange(30))
        writer.add_split("valid", np.arange(30, 45))
        writer.add_split("test", np.arange(45, 60))
    return gz.open(tmp_path / "data")


def seeds(loader):
    return torch.cat([batch.n_id[: batch.batch_size] for batch in loader]).tolist()


def test_training_is_shuffled_and_the_rest_is_not(module, data):
    loaders = module(data, num_neighbors=[2], batch_size=10, seed=1)
    first, second = seeds(loaders.train_dataloader()), seeds(loaders.train_dataloader())
    assert sorted(first) == sorted(second) == list(range(30))
    assert list(range(30)) != first != second
    assert seeds(loaders.val_dataloader()) == list(range(30, 45))
    assert seeds(loaders.test_dataloader()) == list(range(45, 60))


def test_a_stage_without_data_has_no_loaders(module, data):
    loaders = module(data, num_neighbors=[2], val=None)
    assert loaders.val_dataloader() == []
    assert loaders.predict_dataloader() == []


def test_a_loader_is_kept_until_the_stage_ends(module, data):
    loaders = module(data, num_neighbors=[2])
    kept = loaders.train_dataloader()
    assert loaders.train_dataloader() is kept
    loaders.teardown("fit")
    with pytest.raises(ValueError, match="closed"):
        kept.stats()
    assert len(loaders.train_dataloader()) == 30


def test_an_exception_closes_the_loaders(module, data):
    loaders = module(data, num_neighbors=[2])
    kept = loaders.train_dataloader()
    loaders.on_exception(RuntimeError("out of luck"))
    with pytest.raises(ValueError, match="closed"):
        kept.stats()


def test_a_split_can_have_options_of_its_own(module, data):
    test = {"input_nodes": [5, 6, 7], "batch_size": 2}
    train = {"input_nodes": "train", "shuffle": False}
    picked = {"input_nodes": "train", "sampler": [3, 1]}
    loaders = module(data, num_neighbors=[2], batch_size=10, train=train, test=test, predict=picked)
    assert seeds(loaders.train_dataloader()) == list(range(30))
    assert [batch.batch_size for batch in loaders.test_dataloader()] == [2, 1]
    assert seeds(loaders.predict_dataloader()) == [3, 1]


def test_a_sampler_replaces_the_shuffle_of_training(module, data):
    loaders = module(data, num_neighbors=[2], train={"input_nodes": "train", "sampler": [3, 1]})
    assert seeds(loaders.train_dataloader()) == [3, 1]


def test_ranks_divide_what_a_split_lists(module, data, monkeypatch):
    """As a trainer does with the loaders of torch, by a sampler of its own."""
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    train = {"input_nodes": np.arange(10)}
    found = {
        size: sum(batch.batch_size for batch in module(data, num_neighbors=[2], seed=5, train=more).train_dataloader())
        for size, more in ((5, train), (10, {**train, "distributed": False}))
    }
    assert found == {5: 5, 10: 10}


def test_edges_have_link_loaders(module, data):
    src, dst = np.arange(8), np.arange(8, 16)
    train = {"edge_label_index": (src, dst), "neg_sampling": "binary"}
    test = {"edge_label_index": (src, dst), "edge_label": np.arange(8)}
    loaders = module(data, num_neighbors=[2], batch_size=4, train=train, test=test)
    batch = next(iter(loaders.train_dataloader()))
    assert batch.edge_label.tolist() == [1] * 4 + [0] * 4
    labels = [batch.edge_label.tolist() for batch in loaders.test_dataloader()]
    assert labels == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_nodes_have_the_keywords_of_pyg(module, data):
    mask = torch.zeros(60, dtype=torch.bool)
    mask[3:6] = True
    loaders = module(
        data,
        input_train_nodes=mask,
        input_val_nodes=[7, 9],
        input_pred_nodes="test",
        loader="neighbor",
        node_sampler=None,
        eval_loader_kwargs={"batch_size": 1},
        num_neighbors=[2],
        batch_size=3,
    )
    train = next(iter(loaders.train_dataloader()))
    assert sorted(train.n_id[: train.batch_size].tolist()) == [3, 4, 5]
    assert [batch.n_id[0].item() for batch in loaders.val_dataloader()] == [7, 9]
    assert seeds(loaders.test_dataloader()) == seeds(loaders.predict_dataloader()) == list(range(45, 60))
    assert len(loaders.predict_dataloader()) == 15


def test_times_have_the_keywords_of_pyg(module, tmp_path):
    with gz.DatasetWriter(tmp_path / "timed") as writer:
        writer.add_nodes({"time": np.arange(4)})
        writer.add_edges([0, 1, 2], [3, 3, 3])
        writer.add_split("train", [3])
    timed = gz.open(tmp_path / "timed")
    options = {"num_neighbors": [-1], "time_attr": "time"}
    loaders = module(timed, input_train_time=[1], input_val_nodes=[3], input_val_time=[0], **options)
    assert next(iter(loaders.train_dataloader())).n_id.tolist() == [3, 0, 1]
    assert next(iter(loaders.val_dataloader())).n_id.tolist() == [3, 0]
    loaders = module(timed, input_train_edges=[[0], [3]], input_train_time=[1], **options)
    assert next(iter(loaders.train_dataloader())).edge_label_time.tolist() == [1]


def test_edges_have_the_keywords_of_pyg(module, data):
    src, dst = np.arange(8), np.arange(8, 16)
    loaders = module(
        data,
        input_train_edges=(src, dst),
        input_val_edges=(src[:2], dst[:2]),
        input_val_labels=torch.tensor([3, 4]),
        link_sampler=None,
        num_neighbors=[2],
        batch_size=4,
        eval_loader_kwargs={"neg_sampling": None},
        neg_sampling="binary",
    )
    assert next(iter(loaders.train_dataloader())).edge_label.tolist() == [1] * 4 + [0] * 4
    assert next(iter(loaders.val_dataloader())).edge_label.tolist() == [3, 4]
    # Where edges are the seeds, the splits of the nodes are nobody's.
    assert loaders.test_dataloader() == loaders.predict_dataloader() == []
    for given in ({"input_val_edges": (src, dst)}, {"loader": "link_neighbor"}):
        every = module(data, num_neighbors=[2], batch_size=300, **given).train_dataloader()
        assert [batch.edge_label_index.shape[1] for batch in every] == [300]


def test_a_split_that_the_data_does_not_have_is_a_stage_without_data(module, tmp_path):
    with gz.DatasetWriter(tmp_path / "some") as writer:
        writer.add_nodes(num_nodes=4)
        writer.add_edges([0, 1, 2], [3, 3, 3])
        writer.add_split("train", [3])
        writer.add_split("val", [2])
    some = gz.open(tmp_path / "some")
    loaders = module(some, num_neighbors=[2])
    assert seeds(loaders.train_dataloader()) == [3]
    assert seeds(loaders.val_dataloader()) == [2]
    assert loaders.test_dataloader() == loaders.predict_dataloader() == []
    with pytest.raises(ValueError, match="train: expected what to train on, because the data has no split 'train'"):
        module(some.graph, num_neighbors=[2]).train_dataloader()


def test_splits_of_edges_are_found(module, tmp_path):
    with gz.DatasetWriter(tmp_path / "links") as writer:
        writer.add_nodes(num_nodes=4)
        writer.add_edges([0, 1, 2], [3, 3, 3])
        writer.add_split("test", [2], of=("node", "to", "node"))
    loaders = module(gz.open(tmp_path / "links"), num_neighbors=[2], loader="link_neighbor", batch_size=3)
    tested = next(iter(loaders.test_dataloader()))
    assert tested.n_id[tested.edge_label_index].tolist() == [[2], [3]]
    assert loaders.val_dataloader() == []


def test_masks_of_pyg_are_found_as_pyg_finds_them(module, monkeypatch):
    def arguments(data, **given):
        return given["input_nodes"]

    monkeypatch.setattr(sys.modules[MODULE], "TrainerNeighborLoader", arguments)
    of_pyg = importlib.import_module("torch_geometric.data")
    mask, ids = torch.tensor([True, False]), torch.tensor([1])
    loaders = module(of_pyg.Data(train_mask=mask, val_idx=ids, num_nodes=2), num_neighbors=[2])
    assert loaders.train_dataloader() is mask
    assert loaders.val_dataloader() is ids
    assert loaders.test_dataloader() == []
    typed = of_pyg.HeteroData(paper={"train_mask": mask, "num_nodes": 2}, author={"num_nodes": 3})
    assert module(typed, num_neighbors=[2]).train_dataloader() == ("paper", mask)
    typed["author"].train_mask = mask
    with pytest.raises(ValueError, match=r"train: expected one node type with train_mask, found \['paper', 'author'\]"):
        module(typed, num_neighbors=[2])


def test_what_is_given_twice_or_has_another_place_is_named(module, data):
    for given, message in (
        ({"train": "test", "input_train_nodes": "train"}, "train, input_train_nodes: expected one of them, found both"),
        ({"predict": "test", "input_pred_nodes": "train"}, "predict, input_pred_nodes: expected one of them"),
        ({"input_val_nodes": [1], "input_test_edges": [[1], [2]]}, "input_val_nodes: expected edges in all stages"),
        ({"input_pred_nodes": [1], "input_val_labels": [1]}, "input_pred_nodes: expected edges in all stages"),
        ({"loader": "full"}, "loader: expected 'neighbor' or 'link_neighbor', found 'full'; .*num_neighbors"),
        ({"node_sampler": 1}, "node_sampler: .*torch_geometric.data.lightning.LightningNodeData.*FeatureStore"),
        ({"link_sampler": 1}, "link_sampler: .*torch_geometric.data.lightning.LightningLinkData.*FeatureStore"),
        ({"eval_loader_kwargs": {"shuffle": True}}, "shuffle: expected it for one split"),
    ):
        with pytest.raises((TypeError, ValueError), match=f"^{message}"):
            module(data, num_neighbors=[2], **given)


def test_several_node_types(module, tmp_path):
    with gz.DatasetWriter(tmp_path / "typed") as writer:
        writer.add_nodes(type="paper", num_nodes=4)
        writer.add_nodes(type="author", num_nodes=2)
        writer.add_edges([0, 1, 0], [0, 1, 3], type=("author", "writes", "paper"))
        writer.add_split("train", [0, 2], of="paper")
    typed = gz.open(tmp_path / "typed")
    loaders = module(typed, num_neighbors=[2], batch_size=9, val={"author": [1]}, test=("paper", [3]))
    assert sorted(next(iter(loaders.train_dataloader()))["paper"].n_id.tolist()) == [0, 2]
    assert next(iter(loaders.val_dataloader()))["author"].n_id.tolist() == [1]
    assert next(iter(loaders.test_dataloader()))["paper"].n_id.tolist() == [3]


@pytest.mark.parametrize("name", ["shuffle", "input_nodes", "edge_label_index", "batch_sampler"])
def test_what_belongs_to_a_split_is_not_given_for_all(module, data, name):
    with pytest.raises(TypeError, match=f"^{name}: expected it for one split, as in train=.*found it for all"):
        module(data, num_neighbors=[2], **{name: None})


def test_a_split_that_is_not_there_is_named(module, data):
    with pytest.raises(KeyError, match="no split other of node; there are train of node, valid of node, test of node"):
        module(data, num_neighbors=[2], val="other").val_dataloader()


def test_it_can_be_sent_to_another_process(module, data):
    loaders = module(data, num_neighbors=[2], batch_size=10)
    kept = loaders.val_dataloader()
    if found_package() is None:  # a class of sys.modules alone
        kept.close()
        pytest.skip("lightning is not installed")
    assert seeds(pickle.loads(pickle.dumps(loaders)).val_dataloader()) == list(range(30, 45))
    with pytest.raises(ValueError, match="train: expected what to train on"):
        pickle.loads(pickle.dumps(module(data.graph, num_neighbors=[2]))).train_dataloader()


def test_a_split_that_was_not_given_is_none_in_an_old_pickle_either(module, data):
    old = pickle.loads(f"c{MODULE}\n_Untold\n.".encode())
    with pytest.raises(ValueError, match="train: expected what to train on"):
        module(data.graph, num_neighbors=[2], train=old).train_dataloader()


def test_the_package_in_use_gives_the_base(monkeypatch):
    """A Trainer of one package does not know the data modules of the other."""
    for name in ("lightning", *PACKAGES):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "pytorch_lightning", package("pytorch_lightning"))
    assert imported_anew(monkeypatch).__base__ is sys.modules["pytorch_lightning"].LightningDataModule
    monkeypatch.setitem(sys.modules, "lightning", types.ModuleType("lightning"))
    monkeypatch.setitem(sys.modules, "lightning.pytorch", package("lightning.pytorch"))
    assert imported_anew(monkeypatch).__base__ is sys.modules["lightning.pytorch"].LightningDataModule


def run_without(tmp_path, text):
    """Run in a process that finds modules of ``tmp_path`` first; return the last line of its error."""
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {text}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1]


def test_without_lightning_the_error_says_what_to_install(tmp_path):
    absent = "sys.modules['lightning'] = sys.modules['pytorch_lightning'] = None"
    error = run_without(tmp_path, f"{absent}; from graphzero.loaders import LightningDataModule")
    assert error == (
        "ImportError: LightningDataModule: expected the package lightning or pytorch_lightning, found neither; "
        "pip install lightning, or give a Trainer the loaders themselves"
    )


def test_a_lightning_that_lacks_something_is_not_taken_for_absent(tmp_path):
    (tmp_path / "lightning" / "pytorch").mkdir(parents=True)
    (tmp_path / "lightning" / "__init__.py").touch()
    (tmp_path / "lightning" / "pytorch" / "__init__.py").write_text("import torchmetrics_of_old")
    error = run_without(tmp_path, "from graphzero.loaders import LightningDataModule")
    assert error == "ModuleNotFoundError: No module named 'torchmetrics_of_old'"


def test_training_goes_on_where_a_state_was_taken(module, data):
    def made():
        return module(data, num_neighbors=[2], batch_size=10, seed=1)

    before = made()
    batches = iter(before.train_dataloader())
    next(batches)
    state = before.state_dict()
    before.teardown("fit")
    assert before.state_dict() == state == {"seed": 1, "epoch": 0, "batch": 1, "batches": 3, "ranks": 1}
    after = made()
    after.load_state_dict(state)
    assert seeds(after.train_dataloader()) == seeds(made().train_dataloader())[10:]
    assert len(seeds(after.train_dataloader())) == 30


def test_a_module_that_has_not_trained_has_nothing_to_go_on_from(module, data):
    untrained = module(data, num_neighbors=[2], batch_size=10)
    assert untrained.state_dict() == {}
    untrained.load_state_dict({})
    assert len(seeds(untrained.train_dataloader())) == 30


def test_a_state_of_something_else_is_refused(module, data):
    loaders = module(data, num_neighbors=[2], batch_size=10)
    loaders.load_state_dict({"steps": 3})
    with pytest.raises(ValueError, match="state: expected what state_dict.. returns, found nothing under 'seed'"):
        loaders.train_dataloader()


def test_a_closed_loader_tells_where_it_was(module, data):
    loader = module(data, num_neighbors=[2], batch_size=10, seed=1).train_dataloader()
    batches = iter(loader)
    next(batches)
    loader.close()
    loader.close()
    assert loader.state_dict() == {"seed": 1, "epoch": 0, "batch": 1, "batches": 3, "ranks": 1}
    assert len(loader) == 3  # asked for after an error, which another one would take the place of
    with pytest.raises(ValueError, match="closed"):
        pickle.dumps(loader)


def model_and_trainer(real, epochs, **options):
    """A small model that remembers the seeds of each batch, and who trains it."""

    class Model(real.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 2)
            self.seen = {"train": [], "val": [], "test": []}

        def _step(self, stage, batch):
            self.seen[stage].append(batch.n_id[: batch.batch_size].tolist())
            out = self.layer(batch.x[: batch.batch_size])
            return torch.nn.functional.cross_entropy(out, batch.y[: batch.batch_size])

        def training_step(self, batch):
            return self._step("train", batch)

        def validation_step(self, batch):
            self._step("val", batch)

        def test_step(self, batch):
            self._step("test", batch)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    model = Model()
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}
    trainer = real.Trainer(max_epochs=epochs, num_sanity_val_steps=0, **quiet, **options)
    return model, trainer


@pytest.mark.filterwarnings("ignore")
def test_a_trainer_sees_every_epoch(real, module, data):
    loaders = module(data, num_neighbors=[2], batch_size=10, seed=1)
    model, trainer = model_and_trainer(real, 2, enable_checkpointing=False)
    trainer.fit(model, datamodule=loaders)
    trainer.test(model, datamodule=loaders)
    expected = module(data, num_neighbors=[2], batch_size=10, seed=1).train_dataloader()
    epochs = [[batch.n_id[:10].tolist() for batch in expected] for _ in range(2)]
    assert model.seen["train"] == epochs[0] + epochs[1]
    assert model.seen["val"] == [list(range(30, 40)), list(range(40, 45))] * 2
    assert model.seen["test"] == [list(range(45, 55)), list(range(55, 60))]
    assert loaders._loaders == {}


@pytest.mark.filterwarnings("ignore")
def test_a_trainer_without_validation_data(real, module, data):
    model, trainer = model_and_trainer(real, 1, enable_checkpointing=False)
    trainer.fit(model, datamodule=module(data, num_neighbors=[2], batch_size=10, val=None))
    assert len(model.seen["train"]) == 3
    assert model.seen["val"] == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("steps", [2, 3, 4])
def test_a_checkpoint_goes_on_at_the_same_batch(real, module, data, tmp_path, steps):
    def made():
        return module(data, num_neighbors=[2], batch_size=10, seed=1, val=None)

    every = real.callbacks.ModelCheckpoint(tmp_path, "{step}", every_n_train_steps=1, save_top_k=-1)
    whole, trainer = model_and_trainer(real, 3, callbacks=[every])
    trainer.fit(whole, datamodule=made())
    resumed, trainer = model_and_trainer(real, 3, enable_checkpointing=False)
    trainer.fit(resumed, datamodule=made(), ckpt_path=tmp_path / f"step={steps}.ckpt")
    assert resumed.seen["train"] == whole.seen["train"][steps:]


@pytest.mark.filterwarnings("ignore")
def test_a_checkpoint_goes_on_at_the_same_epoch(real, module, data, tmp_path):
    def made():
        return module(data, num_neighbors=[2], batch_size=10, seed=1)

    every = real.callbacks.ModelCheckpoint(tmp_path, "{epoch}", save_top_k=-1)
    whole, trainer = model_and_trainer(real, 3, callbacks=[every])
    trainer.fit(whole, datamodule=made())
    trainer.save_checkpoint(tmp_path / "end.ckpt")
    resumed, trainer = model_and_trainer(real, 3, enable_checkpointing=False)
    trainer.fit(resumed, datamodule=made(), ckpt_path=tmp_path / "epoch=0.ckpt")
    assert resumed.seen["train"] == whole.seen["train"][3:]
    longer, trainer = model_and_trainer(real, 4, enable_checkpointing=False)
    trainer.fit(longer, datamodule=made(), ckpt_path=tmp_path / "end.ckpt")
    expected = made().train_dataloader()
    expected.set_epoch(3)
    assert longer.seen["train"] == [batch.n_id[:10].tolist() for batch in expected]
