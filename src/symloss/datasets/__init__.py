"""The paper's eleven data sets, from their official files: verified, cached, and ready as arrays."""

from symloss.datasets.catalog import (
    Dataset,
    DatasetInfo,
    fetch,
    info,
    list_datasets,
    load,
    load_cifar10_class,
    make_twonorm,
    make_waveform,
    where,
)

__all__ = [
    "Dataset",
    "DatasetInfo",
    "fetch",
    "info",
    "list_datasets",
    "load",
    "load_cifar10_class",
    "make_twonorm",
    "make_waveform",
    "where",
]
