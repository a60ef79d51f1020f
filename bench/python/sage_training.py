"""What bench_accuracy.py trains on both sides: one model, one loop; only the loaders differ."""

import itertools

FANOUTS = [10, 5]
BATCH = 128
HIDDEN = 64
LEARNING_RATE = 0.005


def accuracy_of(make_loader, columns, num_classes, epochs, seed):
    """Return the accuracy on the test split of a GraphSAGE trained on the training split."""
    import torch
    from torch.nn.functional import cross_entropy, dropout
    from torch_geometric.nn import SAGEConv

    torch.manual_seed(seed)
    sizes = [columns, HIDDEN, num_classes]
    layers = torch.nn.ModuleList(SAGEConv(*pair) for pair in itertools.pairwise(sizes))
    optimizer = torch.optim.Adam(layers.parameters(), lr=LEARNING_RATE)

    def outputs(batch, training):
        hidden = dropout(layers[0](batch.x, batch.edge_index).relu(), 0.3, training)
        return layers[1](hidden, batch.edge_index)[: batch.batch_size]

    loader = make_loader("train", seed)
    for _ in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            cross_entropy(outputs(batch, True), batch.y[: batch.batch_size]).backward()
            optimizer.step()
    right = count = 0
    with torch.no_grad():
        for batch in make_loader("test", seed):
            right += int((outputs(batch, False).argmax(1) == batch.y[: batch.batch_size]).sum())
            count += batch.batch_size
    return right / count
