"""An epoch: batches from the pipeline, over a device, in the form that a model takes."""
