package browser_test

import (
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/rehearse/browser"
)

// faint lists the texts on the page with a contrast below 4.5 to what is behind them, and the outlines of nodes, bars
// and marks below 3, as WCAG 2.2 AA asks for (1.4.3 and 1.4.11).
const faint = `(() => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parse = (color) => { // any of the notations of CSS
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = color;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = (c) => c.slice(0, 3).map((v) => v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const chain = (e) => { const all = []; for (let p = e; p; p = p.parentElement) all.unshift(p); return all; };
  const behind = (e) => chain(e).reduce((c, p) => over(parse(getComputedStyle(p).backgroundColor), c), [255, 255, 255, 1]);
  const ratio = (color, e, ground) => {
    const c = parse(color), b = behind(ground);
    c[3] *= chain(e).reduce((o, p) => o * getComputedStyle(p).opacity, 1);
    const [x, y] = [light(over(c, b)), light(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };
  const found = [];
  const want = (least, got, what) => { if (got < least) found.push(what + ": " + got.toFixed(2)); };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let t; (t = texts.nextNode());) {
    const e = t.parentElement, style = getComputedStyle(e);
    if (!t.data.trim() || e.closest("title,.hidden,.skip") || style.display === "none") continue;
    want(4.5, ratio(e.closest("svg") ? style.fill : style.color, e, e.closest("svg")?.parentElement ?? e), t.data.trim());
  }
  for (const e of document.querySelectorAll(".hull, .waits")) {
    want(3, ratio(getComputedStyle(e).stroke, e, e.closest(".card")), e.closest("a")?.className ?? e.className.baseVal);
  }
  for (const e of document.querySelectorAll(".bar")) {
    want(3, ratio(getComputedStyle(e).borderTopColor, e, e.parentElement), e.className);
  }
  return found;
})()`

// Texts and the outlines of what is drawn stand out from what is behind them, in light and in dark.
func TestContrast(t *testing.T) {
	l := lead(t)
	for _, waits := range []string{"", "pods giant count=2 cpu=30 memory=1Gi\n"} {
		l.shows(calm + "node n2 group=general notready age=1m\nnode n3 group=batch\nnode n4 group=batch notready=5m\n" +
			"drain n3 stage=Evicting since=1m began=2m\n" + waits)
	}
	b := browser.Open(t, l.url)
	see := func(path string) {
		for _, isLight := range []bool{true, false} {
			b.Light(isLight)
			b.Go(path)
			if found := browser.Eval[[]string](b, faint); len(found) > 0 {
				t.Errorf("%s, light: %v:\n%s", path, isLight, strings.Join(found, "\n"))
			}
		}
	}
	for _, path := range []string{"/", "/pending", "/nodes", "/decisions", "/groups", "/cost", "/node/n1",
		"/group/general", "/decision/last"} {
		see(path)
	}
	l.shows(many(2000) + "node left group=g-a\ndrain left stage=Evicting since=1m began=2m\n")
	see("/")
}
