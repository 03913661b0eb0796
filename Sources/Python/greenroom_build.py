"""Builds greenroom_app for pip without other build tools, which pip would first fetch from the network. The
hooks are those of PEP 517 and 660, the wheel that of PEP 427."""
import base64
import hashlib
import io
import os
import re
import tarfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODULE = "greenroom_app.py"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same input gives the same bytes


def read(name):
    with open(os.path.join(HERE, name), "rb") as file:
        return file.read()


def version():
    return re.search(r'^__version__ = "(.+)"', read(MODULE).decode(), re.M)[1]


def metadata():
    project = read("pyproject.toml").decode()
    fields = {key: re.search(rf'^{key} = "(.+)"', project, re.M)[1] for key in ("description", "requires-python")}
    return ("Metadata-Version: 2.1\nName: greenroom-app\n"
            f"Version: {version()}\nSummary: {fields['description']}\nLicense: Apache-2.0\n"
            f"Requires-Python: {fields['requires-python']}\n").encode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, MODULE, read(MODULE))


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Installs only the path of the module, which stays here."""
    return write_wheel(wheel_directory, "greenroom_app.pth", (HERE + "\n").encode())


def write_wheel(wheel_directory, name, content):
    information = f"greenroom_app-{version()}.dist-info/"
    files = {
        name: content, information + "METADATA": metadata(),
        information + "WHEEL": b"Wheel-Version: 1.0\nGenerator: greenroom\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files[information + "RECORD"] = (record + information + "RECORD,,\n").encode()
    wheel = f"greenroom_app-{version()}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    folder = f"greenroom_app-{version()}"
    with tarfile.open(os.path.join(sdist_directory, folder + ".tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name in (MODULE, "pyproject.toml", os.path.basename(__file__), "PKG-INFO"):
            content = metadata() if name == "PKG-INFO" else read(name)
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return folder + ".tar.gz"
