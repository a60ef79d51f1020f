"""What must hold before a release: the version is the same everywhere, and what is built from this commit works.

Nothing is uploaded. `make release-check` runs it; CONTRIBUTING.md tells when.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]


def version_problems(package: str, changelog: str, citation: str) -> list[str]:
    """Compare the version of the package with the changelog's first heading and with the citation."""
    version = re.search(r'^__version__ = "([^"]+)"$', package, re.MULTILINE)[1]
    heading = re.search(r"^## (.+)$", changelog, re.MULTILINE)[1]
    cited = re.search(r"^version: (.+)$", citation, re.MULTILINE)[1]
    number, _, development = version.partition(".dev")
    when = "unreleased" if development else "year-month-day"
    pattern = "unreleased" if development else r"\d{4}-\d\d-\d\d"
    problems = []
    if not re.fullmatch(rf"{re.escape(number)} \({pattern}\)", heading):
        problems.append(f"CHANGELOG.md: expected '## {number} ({when})', found '## {heading}'")
    if cited != version:
        problems.append(f"CITATION.cff: expected version {version}, that of the package, found {cited}")
    return problems


def run(*command: object, cwd: pathlib.Path = ROOT) -> str:
    """Run a command; if it fails, show what it printed and end."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    files = ("python/graphzero/__init__.py", "CHANGELOG.md", "CITATION.cff")
    problems = version_problems(*((ROOT / name).read_text() for name in files))
    changed = run("git", "status", "--porcelain").splitlines()
    if changed:
        problems.append(f"the work tree: expected no change since the last commit, found {', '.join(changed)}")
    if problems:
        sys.exit("\n".join(problems))
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        print("building the source distribution, and the wheel from it", flush=True)
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", ROOT)
        built = sorted((folder / "dist").iterdir())
        print(*(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB" for path in built), sep="\n", flush=True)
        print(run(sys.executable, "-m", "twine", "check", "--strict", *built), end="", flush=True)
        wheel = next(path for path in built if path.suffix == ".whl")
        print(run(sys.executable, ROOT / ".ci/try_wheel.py", wheel), end="")
    print("the release may be made")


if __name__ == "__main__":
    main()
