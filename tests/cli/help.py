# SPDX-License-Identifier: GPL-2.0-or-later
"""Help, manual page and shell completion: every verb has examples, whose verbs and options there are, and all three know
every verb and every option."""
import re
import shlex
import shutil
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)


def said(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True).stdout


def verbs_in(help_text):
    """Names below `Subcommands:`."""
    _, _, rest = help_text.partition("Subcommands:\n")
    return re.findall(r"^  ([a-z-]+) ", rest, re.M)


def all_verbs():
    """[("test",), ("image",), ("image", "build"), ...]"""
    found = []
    for name in verbs_in(said("--help")):
        found.append((name,))
        found += [(name, below) for below in verbs_in(said(name, "--help"))]
    return found


def options_in(help_text):
    head, _, _ = help_text.partition("Examples:")
    return set(re.findall(r"(?:^  |,)(--?[a-z][a-z-]*)", head, re.M))


class Help(unittest.TestCase):
    def test_every_verb_has_examples_that_fit_it(self):
        verbs = all_verbs()
        self.assertGreater(len(verbs), 14)
        everywhere = options_in(said("--help"))
        for verb in verbs:
            text = said(*verb, "--help")
            if verbs_in(text):
                continue
            with self.subTest(" ".join(verb)):
                examples = re.findall(r"^  fencepost (.*)$", text, re.M)
                self.assertTrue(examples)
                for example in examples:
                    words = shlex.split(example.split("|")[0].split(">")[0].split("<")[0])
                    self.assertEqual(tuple(words[:len(verb)]), verb)
                    used = {word.split("=")[0] for word in words if re.match("--?[a-z]", word)}
                    self.assertLessEqual(used, options_in(text) | everywhere)

    def test_the_manual_page_has_all(self):
        page = said("manual")
        self.assertTrue(page.startswith(".TH FENCEPOST 1\n"))
        plain = page.replace("\\-", "-")
        for verb in all_verbs():
            section = re.search(rf"^\.SS fencepost {' '.join(verb)}(?: [^\n]*)?\n(.*?)(?=^\.S[SH] )", plain, re.M | re.S)
            self.assertTrue(section, verb)
            for option in options_in(said(*verb, "--help")):
                self.assertRegex(section[1], rf"(?m)^\.B .*{option}\b", verb)

    def complete(self, line):
        """What bash offers at the end of the line."""
        words = line.split(" ")
        script = said("completion", "bash") + (
            f"COMP_WORDS=({' '.join(shlex.quote(word) for word in words)})\nCOMP_CWORD={len(words) - 1}\n"
            "_fencepost 2>/dev/null\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n")
        done = subprocess.run(["bash", "--norc"], input=script, capture_output=True, text=True, check=True, cwd="/")
        self.assertEqual(done.stderr, "")
        return set(done.stdout.split())

    def test_bash_completes(self):
        self.assertEqual(self.complete("fencepost ver"), {"verify"})
        self.assertLessEqual({verb[0] for verb in all_verbs()}, self.complete("fencepost "))
        self.assertEqual(self.complete("fencepost image "), {"build", "list", "prune", "try"} | {
            option for option in self.complete("fencepost image ") if option.startswith("-")})
        self.assertEqual(self.complete("fencepost image try --att"), {"--attach"})
        self.assertEqual(self.complete("fencepost image try --attach "), {"nvdimm", "e820"})
        self.assertEqual(self.complete("fencepost --json test --conf"), {"--confirm"})
        self.assertIn("etc", self.complete("fencepost test "))
        self.assertIn("etc", self.complete("fencepost record -o "))
        for verb in all_verbs():
            offered = self.complete(f"fencepost {' '.join(verb)} -")
            self.assertLessEqual(options_in(said(*verb, "--help")), offered, verb)

    def test_zsh_and_fish_read_theirs(self):
        for shell, arguments in (("zsh", ["-n"]), ("fish", ["--no-execute"])):
            text = said("completion", shell)
            for verb in all_verbs():
                for option in options_in(said(*verb, "--help")):
                    self.assertIn(option.lstrip("-") if shell == "fish" else f"*{option}[", text, verb)
            if shutil.which(shell):
                done = subprocess.run([shell, *arguments, "/dev/stdin"], input=text, capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
