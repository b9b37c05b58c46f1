"""The eleven data sets of the paper.

The checksums were computed from the files. That of SUSY.csv.gz is the one that Intel's scikit-learn_bench checks.
"""

from __future__ import annotations

from symloss.datasets import generators, tables
from symloss.datasets.records import DataFile, DatasetInfo, Known, Mirror

UCI = "https://archive.ics.uci.edu/static/public"
UCI_OLD = "https://archive.ics.uci.edu/ml/machine-learning-databases"
KEEL = "https://sci2s.ugr.es/keel/dataset/data/classification"
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
MNIST = (
    "https://ossci-datasets.s3.amazonaws.com/mnist",
    "https://storage.googleapis.com/cvdf-datasets/mnist",
    "http://yann.lecun.com/exdb/mnist",
)
CIFAR = (
    "https://www.cs.toronto.edu/~kriz",
    "https://cave.cs.toronto.edu/kriz",
    "https://storage.googleapis.com/s4tf-hosted-binaries/datasets/CIFAR10",
)
BINARY = (1,)  # the second of two classes is positive

SPAMBASE = DatasetInfo(
    name="spambase",
    title="e-mails by the frequencies of words and characters, spam or not",
    rows=4601,
    dim=57,
    positives=1813,
    label_names=("not spam", "spam"),
    positive=BINARY,
    publisher="UCI",
    source="https://archive.ics.uci.edu/dataset/94/spambase",
    license="CC BY 4.0",
    citation="Hopkins, Reeber, Forman and Suermondt (1999), Spambase, UCI, doi:10.24432/C53G6X",
    preparation="All columns as they are.",
    files=(
        DataFile(
            "spambase.data", (Known("b1ef93de71f97714d3d7d4f58fc9f718da7bbc8ac8a150eff2778616a8097b12", 702_942),)
        ),
    ),
    mirrors=(
        Mirror(f"{UCI}/94/spambase.zip", {"spambase.data": "spambase.data"}),
        Mirror(f"{UCI_OLD}/spambase/spambase.data", {"spambase.data": None}),
    ),
    read=tables.spambase,
)

PHONEME = DatasetInfo(
    name="phoneme",
    title="vowels by the amplitudes of their first five harmonics, nasal or oral",
    rows=5404,
    dim=5,
    positives=1586,
    label_names=("nasal", "oral"),
    positive=BINARY,
    publisher="KEEL",
    source="https://sci2s.ugr.es/keel/dataset.php?cod=105",
    license="none stated",
    citation="Van Cappel (1993), ELENA project; Alcala-Fdez et al. (2011), KEEL",
    preparation="All columns as they are.",
    files=(
        DataFile(
            "phoneme.dat",
            (
                Known("fe7e701fc5b4a14235f84f2a45ed0f4ac071a9adf59cd1297e69bab4e395d6c6", 174_983),  # KEEL's
                Known("3490bf6bf62a2f8707760e693b4bbee3ca732feeb3f73b81fe2d191cbe59844d", 180_397),  # with CR LF
                Known("eacbb9f7a2b2135d067bff28ed7b9adb760f61f5e91f375f91e22e7e42ace24d", 174_717),  # rows alone
            ),
            also=("phoneme.csv",),
        ),
    ),
    mirrors=(
        Mirror(f"{KEEL}/phoneme.zip", {"phoneme.dat": "phoneme.dat"}),
        Mirror("https://raw.githubusercontent.com/jbrownlee/Datasets/master/phoneme.csv", {"phoneme.dat": None}),
    ),
    read=tables.phoneme,
)

PHISHING = DatasetInfo(
    name="phishing",
    title="web sites by what their address and page look like, legitimate or phishing",
    rows=11_055,
    dim=30,
    positives=6157,
    label_names=("phishing", "legitimate"),
    positive=BINARY,
    publisher="UCI",
    source="https://archive.ics.uci.edu/dataset/327/phishing+websites",
    license="CC BY 4.0",
    citation="Mohammad and McCluskey (2012), Phishing Websites, UCI, doi:10.24432/C51W2X",
    preparation="UCI's 30 columns of -1, 0 and 1 as they are (LIBSVM's version of 68 columns is one-hot).",
    files=(
        DataFile(
            "phishing.arff",
            (
                Known("3bcf93b1612306537ee2737751f1bac185b2a77886ab376644c3bf0c7f7cb3e6", 800_920),  # UCI's
                Known("0dfcd84ccdedca6e1be2ce26452c1f1089ac3f839b9a1b0ab1cdcf6d895f9a70", 800_856),  # fewer blanks
            ),
            also=("Training Dataset.arff",),
        ),
    ),
    mirrors=(
        Mirror(f"{UCI}/327/phishing+websites.zip", {"phishing.arff": "Training Dataset.arff"}),
        Mirror(f"{UCI_OLD}/00327/Training%20Dataset.arff", {"phishing.arff": None}),
    ),
    read=tables.phishing,
)

WAVEFORM = DatasetInfo(
    name="waveform",
    title="noisy mixtures of two out of three waves at 21 points (version 1, without columns of pure noise)",
    rows=5000,
    dim=21,
    positives=1647,
    label_names=("0", "1", "2"),
    positive=(1,),
    publisher="UCI",
    source="https://archive.ics.uci.edu/dataset/107/waveform+database+generator+version+1",
    license="CC BY 4.0",
    citation="Breiman and Stone (1984), Waveform Database Generator (Version 1), UCI, doi:10.24432/C5CS3C",
    preparation="Class 1 against the other two: of the three choices, this one matches the published scores.",
    files=(
        DataFile(
            "waveform.data", (Known("da332f3121943f586826f5d1b2cdd354548c59f71ddbf28c4d0c2eb623d7bfc3", 555_497),)
        ),
    ),
    mirrors=(
        Mirror(f"{UCI}/107/waveform+database+generator+version+1.zip", {"waveform.data": "waveform.data.Z"}),
        Mirror(f"{UCI_OLD}/waveform/waveform.data.Z", {"waveform.data": None}),
    ),
    read=tables.waveform,
    generate=generators.waveform,
)

SUSY = DatasetInfo(
    name="susy",
    title="simulated particle collisions, with supersymmetric particles or without",
    rows=tables.SUSY_ROWS,
    dim=18,
    positives=13_815,
    label_names=("background", "signal"),
    positive=BINARY,
    publisher="UCI",
    source="https://archive.ics.uci.edu/dataset/279/susy",
    license="CC BY 4.0",
    citation="Whiteson (2014), SUSY, UCI, doi:10.24432/C54606; Baldi, Sadowski and Whiteson (2014)",
    preparation=(
        "The first 30,000 of 5,000,000 rows, or a sample of 30,000 rows (13,815 positive) if only the sample is there."
    ),
    files=(
        DataFile(
            "SUSY.csv.gz",
            (
                # this size is that of the archive, which is a little larger than the file
                Known("be56cb5598da8ece4b13912230ee713bab8b3431a7d118e0054ffdf3a2f25664", 922_377_831),
                Known("b61e03604e19d09c501693c9e19bdce4f0babbad8c33853f55f49f8260e8b5df", 5_606_358),  # the sample
            ),
            also=("susy_sample.csv.gz",),
        ),
    ),
    mirrors=(
        Mirror(f"{UCI}/279/susy.zip", {"SUSY.csv.gz": "SUSY.csv.gz"}),
        Mirror(f"{UCI_OLD}/00279/SUSY.csv.gz", {"SUSY.csv.gz": None}),
    ),
    read=tables.susy,
)

W8A = DatasetInfo(
    name="w8a",
    title="web pages by 300 keywords, of one category or not",
    rows=49_749,
    dim=300,
    positives=1479,
    label_names=("-1", "+1"),
    positive=BINARY,
    publisher="LIBSVM",
    source="https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html#w8a",
    license="none stated",
    citation="Platt (1998), Fast training of support vector machines using sequential minimal optimization",
    preparation="The training file, dense; the test file w8a.t is not used.",
    files=(
        DataFile(
            "w8a",
            (
                Known("6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2", 3_478_238),
                Known("d7fe0ec5079fb8fb0901f85ecbbf87e05698600dc0326e0edbe222426b438801", 313_497),  # with bzip2
            ),
            also=("w8a.bz2",),
        ),
    ),
    mirrors=(Mirror(f"{LIBSVM}/w8a", {"w8a": None}),),
    read=tables.w8a,
)

ADULT = DatasetInfo(
    name="adult",
    title="people of the 1994 census, with an income above $50,000 or not",
    rows=45_222,
    dim=104,
    positives=11_208,
    label_names=("<=50K", ">50K"),
    positive=BINARY,
    publisher="UCI",
    source="https://archive.ics.uci.edu/dataset/2/adult",
    license="CC BY 4.0",
    citation="Becker and Kohavi (1996), Adult, UCI, doi:10.24432/C5XW20",
    preparation="Training and test files together, without rows that miss a value; categories one-hot.",
    files=(
        DataFile("adult.data", (Known("5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d", 3_974_305),)),
        DataFile("adult.test", (Known("a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05", 2_003_153),)),
    ),
    mirrors=(
        Mirror(f"{UCI}/2/adult.zip", {"adult.data": "adult.data", "adult.test": "adult.test"}),
        Mirror(f"{UCI_OLD}/adult/adult.data", {"adult.data": None}),
        Mirror(f"{UCI_OLD}/adult/adult.test", {"adult.test": None}),
    ),
    read=tables.adult,
)

TWONORM = DatasetInfo(
    name="twonorm",
    title="points of two overlapping normal distributions in 20 dimensions",
    rows=7400,
    dim=20,
    positives=3697,
    label_names=("0", "1"),
    positive=BINARY,
    publisher="KEEL",
    source="https://sci2s.ugr.es/keel/dataset.php?cod=110",
    license="none stated",
    citation="Breiman (1996), Bias, variance, and arcing classifiers; Alcala-Fdez et al. (2011), KEEL",
    preparation="All columns as they are; the positive class is the one with negative means.",
    files=(
        DataFile(
            "twonorm.dat",
            (
                Known("1adb9c10391ff7cae6f3533c6d98394e43d9d64569ad79cc489c4872fde417af", 1_277_430),  # KEEL's
                Known("41759feac6ba52ee52532c26bca8b76371dbd34951c9ebdea2fff9c79fd47dd4", 1_284_855),  # with CR LF
                Known("4e1a341d055572eb72be548e438b575e299b7e720fc1776f3cddb39a69eba2f3", 1_276_520),  # rows alone
            ),
        ),
    ),
    mirrors=(Mirror(f"{KEEL}/twonorm.zip", {"twonorm.dat": "twonorm.dat"}),),
    read=tables.twonorm,
    generate=generators.twonorm,
)

MUSHROOM = DatasetInfo(
    name="mushroom",
    title="mushrooms of 23 species by what they look like, poisonous or edible",
    rows=5644,
    dim=98,
    positives=2156,
    label_names=("edible", "poisonous"),
    positive=BINARY,
    publisher="UCI",
    source="https://archive.ics.uci.edu/dataset/73/mushroom",
    license="CC BY 4.0",
    citation="Mushroom (1981), UCI, doi:10.24432/C5959T",
    preparation="Without rows that miss a value; all columns one-hot.",
    files=(
        DataFile(
            "agaricus-lepiota.data",
            (Known("e65d082030501a3ebcbcd7c9f7c71aa9d28fdfff463bf4cf4716a3fe13ac360e", 373_704),),
        ),
    ),
    mirrors=(
        Mirror(f"{UCI}/73/mushroom.zip", {"agaricus-lepiota.data": "agaricus-lepiota.data"}),
        Mirror(f"{UCI_OLD}/mushroom/agaricus-lepiota.data", {"agaricus-lepiota.data": None}),
    ),
    read=tables.mushroom,
)

_MNIST_FILES = {
    "train-images-idx3-ubyte.gz": Known("440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609", 9_912_422),
    "train-labels-idx1-ubyte.gz": Known("3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", 28_881),
    "t10k-images-idx3-ubyte.gz": Known("8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6", 1_648_877),
    "t10k-labels-idx1-ubyte.gz": Known("f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6", 4_542),
}

MNIST_DIGITS = DatasetInfo(
    name="mnist",
    title="handwritten digits, even or odd, 28 x 28 pixels",
    rows=70_000,
    dim=784,
    positives=34_418,
    label_names=tuple("0123456789"),
    positive=(0, 2, 4, 6, 8),
    publisher="Y. LeCun",
    source="http://yann.lecun.com/exdb/mnist/",
    license="CC BY-SA 3.0",
    citation="LeCun, Bottou, Bengio and Haffner (1998), Gradient-based learning applied to document recognition",
    preparation="Pixels 0 to 255 as they are, (n, 1, 28, 28); 60,000 images to train, then 10,000 to test.",
    files=tuple(
        DataFile(f"mnist/{name}", (known,), also=(name, f"MNIST/raw/{name}")) for name, known in _MNIST_FILES.items()
    ),
    mirrors=tuple(Mirror(f"{site}/{name}", {f"mnist/{name}": None}) for site in MNIST for name in _MNIST_FILES),
    read=tables.mnist,
    splits={
        split: tuple(f"mnist/{name}" for name in _MNIST_FILES if name.startswith(start))
        for split, start in (("train", "train-"), ("test", "t10k-"))
    },
)

_CIFAR_FILES = {
    "data_batch_1.bin": "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "data_batch_2.bin": "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "data_batch_3.bin": "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "data_batch_4.bin": "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "data_batch_5.bin": "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "test_batch.bin": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
}
_CIFAR_NAMES = tuple(f"cifar-10-batches-bin/{name}" for name in _CIFAR_FILES)

CIFAR10 = DatasetInfo(
    name="cifar10",
    title="photographs of ten kinds of things, airplanes or others, 3 x 32 x 32 pixels",
    rows=60_000,
    dim=3072,
    positives=6000,
    label_names=("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    positive=(0,),
    publisher="U. of Toronto",
    source="https://www.cs.toronto.edu/~kriz/cifar.html",
    license="none stated",
    citation="Krizhevsky (2009), Learning multiple layers of features from tiny images",
    preparation=(
        "Pixels 0 to 255 as they are, (n, 3, 32, 32); 50,000 images to train, then 10,000 to test. "
        "negative='horse' keeps airplanes and horses only."
    ),
    files=tuple(
        DataFile(name, (Known(digest, 30_730_000),))
        for name, digest in zip(_CIFAR_NAMES, _CIFAR_FILES.values(), strict=True)
    ),
    mirrors=tuple(Mirror(f"{site}/cifar-10-binary.tar.gz", {name: name for name in _CIFAR_NAMES}) for site in CIFAR),
    read=tables.cifar10,
    splits={"train": _CIFAR_NAMES[:5], "test": _CIFAR_NAMES[5:]},
)

CATALOG = {
    info.name: info
    for info in (
        SPAMBASE,
        PHONEME,
        PHISHING,
        WAVEFORM,
        SUSY,
        W8A,
        ADULT,
        TWONORM,
        MUSHROOM,
        MNIST_DIGITS,
        CIFAR10,
    )
}
