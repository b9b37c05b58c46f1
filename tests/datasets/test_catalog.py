import ast
import re
from pathlib import Path

import pytest

import symloss as sl
from symloss.datasets import info, list_datasets


@pytest.mark.parametrize("name", list_datasets())
def test_every_record_is_complete(name):
    record = info(name)
    assert record.name == name
    assert 0 < record.positives < record.rows
    assert set(record.positive) < set(range(len(record.label_names)))
    assert all((record.title, record.publisher, record.license, record.citation, record.preparation))
    for file in record.files:
        assert all(re.fullmatch("[0-9a-f]{64}", known.sha256) and known.size > 0 for known in file.known)
        assert any(file.name in mirror.gives for mirror in record.mirrors)
        assert not Path(file.name).is_absolute()
        assert ".." not in Path(file.name).parts
    for mirror in record.mirrors:
        assert mirror.gives.keys() <= {file.name for file in record.files}
        assert mirror.url.startswith("https://") or mirror.url.startswith("http://yann.lecun.com/")
        assert len(mirror.gives) == 1 or None not in mirror.gives.values()
    assert all({file.name for file in record.files} >= set(names) for names in record.splits.values())


def test_no_pickle_is_ever_loaded():
    for path in (Path(sl.__file__).parent / "datasets").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = {alias.name for alias in node.names} if isinstance(node, ast.Import | ast.ImportFrom) else set()
            assert not names & {"pickle", "joblib", "torch", "dill", "cloudpickle"}, path
            assert not (isinstance(node, ast.Attribute) and ast.unparse(node) in ("np.load", "np.fromregex")), path
