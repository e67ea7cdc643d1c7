# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's page in headless Chromium: everything that can be clicked or typed into does what it says, and nothing complains.

report_page.py PROGRAM MAKE_TRACE [--screenshots FOLDER]
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import browser
import made_run

SKIPPED = 77  # for meson
SCREENSHOTS = pathlib.Path(sys.argv.pop(sys.argv.index("--screenshots") + 1)) if "--screenshots" in sys.argv else None
if SCREENSHOTS:
    sys.argv.remove("--screenshots")
MAKE_TRACE = os.path.abspath(sys.argv.pop(2))
PROGRAM = os.path.abspath(sys.argv.pop(1))


def make_run(folder):
    """60 epochs, 10 operations; findings of three functions' stores, and rules that say something."""
    text = made_run.trace_text(60, 10) + "".join(f"store pmem0+{0x100000 + 64 * i} 8 = 1 @late_{i % 3}\n" for i in range(6))
    made_run.make_trace(MAKE_TRACE, folder, text)
    fences = made_run.fences_of(folder, PROGRAM)
    with made_run.Results(folder) as results:
        results.session()
        for number, seq in enumerate(fences):
            if number % 2 == 0:
                results.image(seq, ("n", "a"))
        results.finding("0123456789ab", fences[5], "n+1.1", summary=f"the flag is set {made_run.HOSTILE}")
        results.finding("0123456789cd", fences[9], "n+0.2", summary="entry 4 is damaged", severity="warning")


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.home.cleanup)
        folder = pathlib.Path(cls.home.name) / "run"
        make_run(folder)
        subprocess.run([PROGRAM, "-q", "report", folder], check=True, stdout=subprocess.DEVNULL)
        cls.file = folder / "report.html"

    def open(self, **how):
        page = browser.Page(self.file, **how)
        page.__enter__()
        self.addCleanup(page.__exit__)
        return page

    def assert_quiet(self, page):
        self.assertEqual(page.complaints, [])
        self.assertEqual([url for url in page.requests if not url.startswith("file:")], [])

    @staticmethod
    def shown(page):
        return page.evaluate("[...document.querySelectorAll('details.finding:not([hidden])')].map(each => each.id)")

    @staticmethod
    def type_into(page, element, text, event="input"):
        page.evaluate(f"(() => {{ const it = document.getElementById('{element}'); it.value = {text!r}; "
                      f"it.dispatchEvent(new Event('{event}', {{bubbles: true}})); }})()")

    def click(self, page, selector):
        self.assertTrue(page.evaluate(f"!!document.querySelector({selector!r})"), selector)
        page.evaluate(f"document.querySelector({selector!r}).click()")

    def test_findings_filter_and_expand(self):
        page = self.open()
        everything = self.shown(page)
        self.assertGreater(len(everything), 3)
        self.assertEqual(everything[0], "f-0123456789ab")
        self.type_into(page, "filter-severity", "bug")
        self.assertEqual(self.shown(page), ["f-0123456789ab"])
        self.assertEqual(page.evaluate("document.getElementById('filter-count').textContent"), "1 shown")
        self.type_into(page, "filter-severity", "")
        self.type_into(page, "filter-text", "ENTRY 4 is")
        self.assertEqual(self.shown(page), ["f-0123456789cd"])
        self.type_into(page, "filter-text", "in no finding")
        self.assertEqual(self.shown(page), [])
        self.assertFalse(page.evaluate("document.getElementById('no-match').hidden"))
        self.type_into(page, "filter-text", "")
        module = page.evaluate("document.querySelectorAll('#filter-module option')[1].value")
        self.type_into(page, "filter-module", module)
        self.assertTrue(0 < len(self.shown(page)) < len(everything))
        self.type_into(page, "filter-module", "")
        self.click(page, "#expand-all")
        self.assertEqual(page.evaluate("document.querySelectorAll('details.finding[open]').length"), len(everything))
        self.click(page, "#collapse-all")
        self.assertEqual(page.evaluate("document.querySelectorAll('details.finding[open]').length"), 0)
        page.evaluate("location.hash = '#f-0123456789cd'; new Promise(done => setTimeout(done, 0))")
        self.assertTrue(page.evaluate("document.getElementById('f-0123456789cd').open"))
        self.assert_quiet(page)

    def test_by_keyboard(self):
        page = self.open()
        page.evaluate("document.querySelector('details.finding > summary').focus()")
        page.press("Enter", "\r")
        self.assertTrue(page.evaluate("document.querySelector('details.finding').open"))
        self.assertTrue(page.evaluate("document.querySelector('details.finding .timeline').innerText.includes('power fails')"))
        page.press(" ", " ")
        self.assertFalse(page.evaluate("document.querySelector('details.finding').open"))
        # Tab goes through everything, in the order of the page.
        page.evaluate("document.activeElement.blur()")
        reached = set()
        for _ in range(120):
            page.press("Tab")
            reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        for each in ("filter-text", "filter-severity", "filter-module", "expand-all", "epochs-failing", "epoch-goto", "epoch-next",
                     "function-text", "function-module", "SUMMARY"):
            self.assertIn(each, reached)
        self.assert_quiet(page)

    def rows(self, page):
        return page.evaluate("[...document.querySelectorAll('#epoch-rows tr')].map(each => Number(each.firstChild.textContent))")

    def test_epochs(self):
        page = self.open()
        self.assertEqual(self.rows(page), list(range(20)))
        self.click(page, "#epoch-next")
        self.assertEqual(self.rows(page), list(range(20, 40)))
        self.click(page, "#epoch-previous")
        self.type_into(page, "epoch-goto", "50", "change")
        self.assertEqual(self.rows(page)[0], 50)
        self.click(page, "#epochs-failing")
        self.assertEqual(self.rows(page), [5, 9])
        self.click(page, "#epoch-rows button")
        picture = page.evaluate("document.getElementById('epoch-picture').textContent")
        self.assertIn("Epoch 5: events ", picture)
        self.assertIn("append", picture)
        self.assertEqual(page.evaluate("document.activeElement.dataset.epoch"), "5")
        self.assertGreater(page.evaluate("document.querySelectorAll('#epoch-picture svg rect').length"), 3)
        self.click(page, "#epoch-picture summary")
        self.click(page, "#epochs-failing")
        self.click(page, "#epochs-untested")
        self.assertNotIn(0, self.rows(page))
        self.click(page, "#epochs-untested")
        self.assert_quiet(page)

    def test_functions_and_charts(self):
        page = self.open()
        names = "[...document.querySelectorAll('#function-rows code')].map(each => each.textContent)"
        self.assertIn("append", page.evaluate(names))
        self.type_into(page, "function-text", "set_")
        self.assertEqual(page.evaluate(names), ["set_flag"])
        self.type_into(page, "function-text", "")
        self.type_into(page, "function-module", "mjournal")
        self.assertEqual(sorted(page.evaluate(names)), ["append", "set_flag"])
        self.click(page, "#function-filters button[disabled]")
        for chart in ("coverage-chart", "operation-chart"):
            page.evaluate(f"document.getElementById('{chart}').scrollIntoView(); new Promise(done => setTimeout(done, 300))")
            self.assertGreater(page.evaluate(f"document.querySelectorAll('#{chart} rect').length"), 5, chart)
        for link in page.evaluate("[...document.querySelectorAll('nav a')].map(each => each.getAttribute('href'))"):
            self.assertTrue(page.evaluate(f"!!document.querySelector({link!r})"), link)
        self.assert_quiet(page)

    def test_nothing_is_wider_than_a_phone(self):
        for dark in (False, True):
            page = self.open(width=390, height=800, dark=dark)
            self.click(page, "#expand-all")
            self.click(page, "#epoch-rows button")
            self.assertEqual(page.evaluate("document.documentElement.scrollWidth"), 390)
            self.assertEqual(page.evaluate("getComputedStyle(document.body).backgroundColor === 'rgb(20, 23, 26)'"), dark)
            self.assert_quiet(page)

    def test_hostile_texts_are_text(self):
        page = self.open()
        self.click(page, "#expand-all")
        self.assertTrue(page.evaluate("document.body.innerText.includes('</script><img src=x onerror=alert(1)>')"))
        self.assertEqual(page.evaluate("document.images.length"), 0)
        self.assert_quiet(page)

    @unittest.skipUnless(SCREENSHOTS, "no folder for screenshots")
    def test_screenshots(self):
        for width in (1280, 390):
            for dark in (False, True):
                page = self.open(width=width, dark=dark)
                self.click(page, "details.finding > summary")
                page.screenshot(SCREENSHOTS / f"page-{width}-{'dark' if dark else 'light'}.png")


if __name__ == "__main__":
    if not browser.program():
        print("skipped: chromium is not installed")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
