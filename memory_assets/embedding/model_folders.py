"""Models that are not packaged: a folder on this machine, or a name on a model hub."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memory_assets.embedding.folders import file_sha256
from memory_assets.embedding.local import LocalModel, load_folder
from memory_assets.errors import ModelNotFound

_UNUSED = ("onnx", "openvino", "tflite", "coreml", "gguf")
_SMALL_FILES = (
    "modules.json",
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "vocab.txt",
    "sentencepiece.bpe.model",
    "spiece.model",
)
_AT_THE_TOP = ("modules.json", "config.json")
"""A model's folder has one of them; a folder that has none is not searched to its depth."""
_E5 = re.compile(r"(^|[/_-])e5[_-](?!.*instruct)", re.IGNORECASE)
_E5_PROMPTS = {"query": "query: ", "document": "passage: "}


def local_model(
    name: str, cache_dir: Path, *, prompts: Mapping[str, str] | None = None
) -> LocalModel:
    """What is known of the model in the folder ``name``, or of the hub's model of that name.

    The weights are hashed once and the hash is remembered in ``cache_dir`` as long as no file
    changes. ``prompts`` (kind to text) override the model's own.

    Raises:
        ModelNotFound: no such folder, and the hub's model is neither here nor to be had.
    """
    own = folder_named(name)
    folder = own or _from_hub(name)
    known = _Record.of(folder, cache_dir / "fingerprints")
    return LocalModel(
        provider="local",
        name=folder.resolve().name if own else name,
        dimension=known.dimension,
        weights_sha256=known.sha256,
        prompts=tuple(sorted((prompts or _own_prompts(folder, name)).items())),
        folder=lambda: folder,
    )


def folder_named(name: str) -> Path | None:
    """The folder on this machine that ``name`` means, if there is one."""
    try:
        folder = Path(name).expanduser()
        return folder if folder.is_dir() else None
    except (OSError, RuntimeError):
        return None  # longer than a path can be, or the home of a user that there is not


def remembered_folders(name: str, cache_dir: Path) -> list[str]:
    """Folders of that name that held a model when they were last looked at, by their path."""
    records = sorted((cache_dir / "fingerprints").glob("*.json"))
    found = (str(_read_json(path).get("folder", "")) for path in records)
    return [folder for folder in found if Path(folder).name == name]


def _unreadable(folder: Path, error: OSError) -> ModelNotFound:
    return ModelNotFound(
        f"The model folder {folder} cannot be read: {error.strerror or error}.",
        where=str(error.filename or folder),
        remedy="Make its files readable for this user, or correct the path in the model's name.",
    )


def _from_hub(name: str) -> Path:
    """The hub's model in the local store; asked for over the network only if it is not there."""
    if name.startswith(("/", ".", "~")) or name.count("/") > 1:
        raise ModelNotFound(
            f"There is no model folder {name}.", remedy="Correct the path in the model's name."
        )
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    unused = [f"{part}/*" for part in _UNUSED] + ["*.h5", "*.msgpack", "*.ot", "*.onnx"]
    problem = ""
    for local_only in (True, False):
        try:
            return Path(
                snapshot_download(name, local_files_only=local_only, ignore_patterns=unused)
            )
        except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
            problem = type(error).__name__
    raise ModelNotFound(
        f"The model {name} is not on this machine, and the hub did not give it ({problem}).",
        remedy="Check the name and the network, name a folder (local:/path/to/model), or use a "
        "packaged model, which needs no network.",
    )


class _Record:
    """Hash of a model folder, and its dimension, remembered by size and time of its files."""

    def __init__(self, sha256: str, dimension: int) -> None:
        self.sha256 = sha256
        self.dimension = dimension

    @classmethod
    def of(cls, folder: Path, records: Path) -> _Record:
        """The record of ``folder``, made now if there is none or a file has changed."""
        try:
            files = list(_files(folder))
            stamp = {
                file.relative_to(folder).as_posix(): [file.stat().st_size, file.stat().st_mtime_ns]
                for file in files
            }
        except OSError as error:
            raise _unreadable(folder, error) from error
        if not files:
            raise ModelNotFound(
                f"The folder {folder} holds no model weights.",
                remedy="Name a sentence-transformers folder with its *.safetensors files.",
            )
        digest = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:24]
        path = records / f"{digest}.json"
        kept = _read_json(path)
        if kept.get("files") == stamp and "folder" in kept:
            return cls(str(kept["sha256"]), int(kept["dimension"]))
        try:
            record = cls(_folder_sha256(folder, files), _dimension(folder))
        except OSError as error:
            raise _unreadable(folder, error) from error
        records.mkdir(parents=True, exist_ok=True)
        work = path.with_name(f".{path.name}-{os.getpid()}")
        body = {
            "folder": str(folder.resolve()),
            "files": stamp,
            "sha256": record.sha256,
            "dimension": record.dimension,
        }
        work.write_text(json.dumps(body), encoding="utf-8")
        os.replace(work, path)
        return record


def _files(folder: Path) -> Iterator[Path]:
    """The files that decide what texts become: weights and the small files beside them."""
    if not any((folder / name).exists() for name in _AT_THE_TOP):
        return
    inside = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not set(path.relative_to(folder).parts[:-1]) & set(_UNUSED)
    ]
    weights = [path for path in inside if path.suffix == ".safetensors"]
    weights = weights or [path for path in inside if path.suffix in (".bin", ".pt")]
    if weights:
        yield from weights
        yield from (path for path in inside if path.name in _SMALL_FILES)


def _folder_sha256(folder: Path, files: list[Path]) -> str:
    whole = hashlib.sha256()
    for file in files:
        whole.update(f"{file.relative_to(folder).as_posix()}\x1f{file_sha256(file)}\n".encode())
    return whole.hexdigest()


def _dimension(folder: Path) -> int:
    """Asked of the loaded model: its modules compute it in too many ways to read it from files."""
    dimension = load_folder(folder, None).get_embedding_dimension()
    if not dimension:
        raise ModelNotFound(
            f"The model in {folder} does not say how long its vectors are.",
            remedy="Name a sentence-transformers model that embeds texts.",
        )
    return int(dimension)


def _own_prompts(folder: Path, name: str) -> dict[str, str]:
    """The model's prompts for the two kinds; the e5 family's where the folder names none."""
    settings = _read_json(folder / "config_sentence_transformers.json")
    prompts = settings.get("prompts") or {}
    default = prompts.get(settings.get("default_prompt_name") or "", "")
    query = prompts.get("query") or default
    document = next(
        (prompts[key] for key in ("document", "passage", "corpus") if prompts.get(key)), default
    )
    if not (query or document) and _E5.search(name):
        return dict(_E5_PROMPTS)
    return {kind: text for kind, text in (("query", query), ("document", document)) if text}


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
