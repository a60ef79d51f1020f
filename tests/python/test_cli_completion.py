"""Shell completion: what bash, zsh and fish are told, and that names of files are left to them."""

import os
import subprocess

import pytest

from graphzero.cli.command import run
from systems import NO_MODES, posix_only
from terminals import COMMAND


def completed(shell, line, **variables):
    """What the shell would offer at the end of ``line``."""
    words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)} if shell == "bash" else {}
    environment = {
        **os.environ, "_GRAPHZERO_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": line, **words, **variables,
    }  # fmt: skip
    done = subprocess.run(COMMAND, capture_output=True, text=True, env=environment, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_bash_is_offered_verbs_and_options():
    verbs = completed("bash", "graphzero ")[1].split()
    assert {"convert", "info", "sample", "synth", "verify"} <= set(verbs)
    assert completed("bash", "graphzero ver") == (0, "verify\n")
    assert completed("bash", "graphzero info --de") == (0, "--degrees\n")
    assert "--json" in completed("bash", "graphzero convert a b --")[1].split()


def test_zsh_is_offered_verbs_with_what_they_do():
    code, offered = completed("zsh", "graphzero ver")
    assert code == 0
    assert '"verify":"Read everything and check it."' in offered


def test_fish_is_offered_verbs_with_what_they_do():
    offered = completed("fish", "graphzero ver", _TYPER_COMPLETE_FISH_ACTION="get-args")
    assert offered == (0, "verify\tRead everything and check it.\n")


@pytest.mark.parametrize("line", ["graphzero info ti", "graphzero convert e", "graphzero convert a b --tmp-dir x"])
def test_names_of_files_are_left_to_the_shell(line):
    assert completed("bash", line) == (0, "\n")  # nothing: -o default of the script makes bash take files
    assert completed("zsh", line) == (0, "_files\n")
    assert completed("fish", line, _TYPER_COMPLETE_FISH_ACTION="is-args")[0] == 1  # no arguments of ours: files


@pytest.mark.parametrize(
    ("shell", "script", "place"),
    [
        ("bash", "complete -o default -F _graphzero_completion graphzero", ".bash_completions/graphzero.sh"),
        ("zsh", "compdef _graphzero_completion graphzero", ".zfunc/_graphzero"),
        ("fish", "complete --command graphzero", ".config/fish/completions/graphzero.fish"),
    ],
)
def test_script_is_shown_and_installed(shell, script, place, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run(["--show-completion", shell]) == 0
    assert script in capsys.readouterr().out
    assert run(["--install-completion", shell]) == 0
    assert script in (tmp_path / place).read_text()


@posix_only(reason=NO_MODES)
def test_bash_completes_a_line(tmp_path):
    """The script in a real bash: what Tab would put into the line."""
    program = tmp_path / "graphzero"
    program.write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(_GRAPHZERO_COMPLETE=source_bash graphzero)"\n'
        'COMP_WORDS=(graphzero sy); COMP_CWORD=1; _graphzero_completion graphzero; echo "${COMPREPLY[@]}"'
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "synth\n"
