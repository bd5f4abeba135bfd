//go:build real

package test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sweep/internal/audit"
	"sweep/internal/plan"
	"sweep/internal/results"
)

// tabs is the most times that a reader should have to press Tab to see all of
// the page of the test.
const tabs = 60

// The page in a real browser: it asks for nothing from outside, says nothing on
// the console, and all that it shows can be reached, read and heard.
func TestPageInBrowser(t *testing.T) {
	k := newKit(t)
	writeRun(t, filepath.Join(k.dir, "r"))
	if out, errs, code := k.run("report", "r", "-o", "page.html"); code != 0 || out != "" {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	b := newBrowser(k)
	b.open(filepath.Join(k.dir, "page.html"))

	t.Run("figure", b.figure)
	t.Run("hover", b.hover)
	t.Run("keyboard", b.keyboard)
	t.Run("names", b.names)
	t.Run("phone", b.phone)
	t.Run("dark", b.dark)
	t.Run("without a script", b.withoutScript)
	b.quiet()
	b.end()
}

// points are how many points writeRun's run has.
const points = 3 * 2

// writeRun writes a run's folder, with names and consoles that are out to do
// harm.
func writeRun(t *testing.T, dir string) {
	t.Helper()
	const evil = `<script>alert("console")</script><img src="http://192.0.2.1/x.png">`
	systems := []plan.System{{Guest: "unikraft", Attachment: "vhost-user"}, {Guest: `<b onfocus=alert(1)>mine"`, Attachment: "vhost-user"}, {Guest: "bare", Attachment: "vhost-user"}}
	f, err := results.Create(dir, results.Run{
		Kit: "test", Command: []string{"sweep", evil}, Started: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC),
		Plan:    plan.Plan{Systems: systems, Sizes: []int{64, 1500}, Trials: 2, Duration: time.Second, Wire: "memif"},
		Accel:   "tcg",
		Machine: results.Machine{CPU: "A CPU with a long name, which goes on and on @ 2.00GHz", CPUs: 2, Cmdline: strings.Repeat("a.parameter=without.spaces,", 20)},
		Skipped: []results.Skipped{{System: plan.System{Guest: "linux-dpdk", Attachment: "vhost-net"}, Why: evil}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for round := 1; round <= 2; round++ {
		for i, s := range systems {
			for _, size := range []int{64, 1500} {
				trial := results.Trial{
					Trial: plan.Trial{System: s, Size: size, Round: round, Boot: round}, RxPps: float64((i+1)*1_000_000 + round*1000 - size),
					Ledger:   &audit.Ledger{GuestSent: 5_000_000, ServerReceived: 5_000_000, ServerSent: 4_999_000, ServerDropped: 1000, ClientReceived: 4_998_999},
					Findings: []audit.Finding{{Kind: audit.Caveat, Text: evil}},
				}
				if i == 1 && round == 2 {
					trial.RxPps, trial.Error, trial.Console = 0, evil, []string{evil, strings.Repeat("x", 500)}
				}
				if err := f.Append(trial); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := f.Command("server", "dpdk-testpmd "+strings.Repeat("--a-long-option=value ", 30)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// browser is a Chromium with a tab.
type browser struct {
	k     *kit
	ctx   context.Context
	close func() error

	mu       sync.Mutex
	requests []string
	said     []string // on the console, and dialogs
}

func newBrowser(k *kit) *browser {
	k.t.Helper()
	program := chromium()
	if program == "" {
		k.t.Fatal("there is no Chromium: ./prepare.sh --tests installs Debian's")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.Env(k.mark))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses root otherwise
	}
	ctx, cancel := context.WithTimeout(k.t.Context(), 2*time.Minute)
	k.t.Cleanup(cancel)
	ctx, endProcess := chromedp.NewExecAllocator(ctx, options...)
	k.t.Cleanup(endProcess)
	tab, _ := chromedp.NewContext(ctx)
	b := &browser{k: k, ctx: tab, close: func() error { return chromedp.Cancel(tab) }}
	err := chromedp.Listen(tab, b.listen) // it starts the browser
	if err == nil {
		_, err = chromedp.Call(tab, network.Enable, network.EnableParams{})
	}
	if err == nil {
		_, err = chromedp.Call(tab, log.Enable, cdp.Empty{})
	}
	if err != nil {
		k.t.Fatalf("start Chromium: %v", err)
	}
	return b
}

// chromium is the browser's program, under the names that distributions give
// it; empty where there is none.
func chromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if program, err := exec.LookPath(name); err == nil {
			return program
		}
	}
	return ""
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventConsoleAPICalled:
		b.said = append(b.said, fmt.Sprintf("console.%s of %d values", e.Type, len(e.Args)))
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, "an exception: "+e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		b.said = append(b.said, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	case *page.EventJavascriptDialogOpening:
		b.said = append(b.said, "a dialog: "+e.Message)
		go func() { // or the page stands still
			_, _ = chromedp.Call(b.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		}()
	}
}

// open loads a file at a desktop's size.
func (b *browser) open(file string) {
	b.k.t.Helper()
	b.run(b.k.t, chromedp.EmulateViewport(1280, 900), chromedp.Navigate((&url.URL{Scheme: "file", Path: file}).String()), chromedp.WaitReady("footer"))
}

func (b *browser) run(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// call is a command of the browser's protocol.
func call[P, R any](t *testing.T, b *browser, command cdp.Command[P, R], params P) R {
	t.Helper()
	result, err := chromedp.Call(b.ctx, command, params)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// js is the value of an expression in the page.
func js[T any](t *testing.T, b *browser, expression string) T {
	t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// shown are the points of the drawing that is shown at this width.
const shown = `[...document.querySelectorAll("#plot svg")].filter(s => s.getClientRects().length).flatMap(s => [...s.querySelectorAll(".point")])`

func (b *browser) figure(t *testing.T) {
	if n := js[int](t, b, shown+".length"); n != points {
		t.Errorf("%d points are shown, want %d", n, points)
	}
	// Each within the drawing, none on top of another.
	if bad := js[[]string](t, b, `(() => { const box = document.getElementById("plot").getBoundingClientRect(); const seen = new Set();
		return `+shown+`.map(p => p.querySelector(".mark").getBoundingClientRect()).map(r => [r, r.x + "," + r.y])
		.filter(([r, at]) => r.width < 3 || r.left < box.left || r.right > box.right || seen.has(at) || !seen.add(at)).map(([r, at]) => at); })()`); len(bad) > 0 {
		t.Errorf("points at %q", bad)
	}
	if n := js[int](t, b, `document.querySelectorAll("table tbody th[scope=row]").length`); n < 2 {
		t.Errorf("%d rows", n)
	}
	if text := js[string](t, b, `document.body.textContent`); !strings.Contains(text, `<script>alert("console")</script>`) {
		t.Error("what the console said is not on the page")
	}
}

// tip is what the tip says; nothing where it is hidden.
const tip = `(() => { const t = document.getElementById("tip"); return t.hidden || !t.offsetWidth ? "" : t.textContent; })()`

func (b *browser) hover(t *testing.T) {
	type spot struct {
		X, Y  float64
		Words string
	}
	b.run(t, chromedp.ScrollIntoView("#plot"))
	spots := js[[]spot](t, b, shown+`.map(p => { const r = p.querySelector(".mark").getBoundingClientRect();
		return {X: r.x + r.width / 2, Y: r.y + r.height / 2, Words: p.getAttribute("aria-label")}; })`)
	for _, s := range spots {
		b.run(t, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, s.X, s.Y))
		if got := js[string](t, b, tip); got != s.Words || !strings.Contains(got, " Mpps") || !strings.Contains(got, " B: ") {
			t.Errorf("over a point the tip says %q, want %q", got, s.Words)
		}
	}
	b.run(t, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 1, 1))
	if got := js[string](t, b, tip); got != "" {
		t.Errorf("away from the figure the tip says %q", got)
	}
}

// keyboard presses Tab from the top: it comes to every point that is shown, to
// every part that opens and every part that scrolls, and each has a mark that
// shows where one is.
func (b *browser) keyboard(t *testing.T) {
	js[any](t, b, `document.activeElement.blur(), scrollTo(0, 0)`)
	reached := map[string]bool{}
	n := 0
	for range tabs {
		b.run(t, chromedp.KeyEvent(kb.Tab))
		at := js[struct {
			Name, Point, Ring string
			Body              bool
			Width             float64
		}](t, b, `(() => { const e = document.activeElement; const p = e.closest(".point");
			return {Name: e.tagName + " " + (e.getAttribute("aria-label") || e.textContent).slice(0, 60), Body: e === document.body,
				Point: p ? p.getAttribute("aria-label") || "a point without words" : "", Width: e.getBoundingClientRect().width,
				Ring: p ? getComputedStyle(p.querySelector(".hit")).stroke : getComputedStyle(e).outlineStyle}; })()`)
		if at.Body {
			break
		}
		if at.Point != "" {
			n++
			if got := js[string](t, b, tip); got != at.Point {
				t.Errorf("on %q the tip says %q", at.Point, got)
			}
		}
		if at.Ring == "none" || at.Width == 0 {
			t.Errorf("nothing shows the focus on %s", at.Name)
		}
		reached[strings.Fields(at.Name)[0]] = true
	}
	if n != points {
		t.Errorf("Tab came to %d points, want %d", n, points)
	}
	for _, tag := range []string{"A", "SUMMARY", "DIV"} {
		if !reached[tag] {
			t.Errorf("Tab came to no <%s>", tag)
		}
	}
	// Escape takes the tip away; Enter opens what is closed.
	js[any](t, b, shown+`[0].focus()`)
	b.run(t, chromedp.KeyEvent(kb.Escape))
	if got := js[string](t, b, tip); got != "" {
		t.Errorf("after Escape the tip says %q", got)
	}
	js[any](t, b, `document.querySelector("summary").focus()`)
	b.run(t, chromedp.KeyEvent(kb.Enter))
	if !js[bool](t, b, `document.querySelector("details").open`) {
		t.Error("Enter opens nothing")
	}
}

// names asks the browser's accessibility tree, which a screen reader reads, for
// what can be focused and has no name.
func (b *browser) names(t *testing.T) {
	js[any](t, b, `document.querySelectorAll("details").forEach(d => { d.open = true; })`)
	nodes := call(t, b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes
	focusable, images := 0, 0
	for _, n := range nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		role := strings.Trim(string(n.Role.Value), `"`)
		can := false
		for _, p := range n.Properties {
			can = can || p.Name == accessibility.PropertyNameFocusable && string(p.Value.Value) == "true"
		}
		named := n.Name != nil && strings.Trim(string(n.Name.Value), `" `) != ""
		if role == "image" || role == "img" {
			images++
		}
		if role == "RootWebArea" || !can && role != "image" && role != "img" && role != "table" {
			continue
		}
		focusable++
		if !named {
			t.Errorf("a %s has no name (%v)", role, n.NodeID)
		}
	}
	if focusable < points+4 || images != points {
		t.Errorf("%d things can be focused or seen, %d of them images: is that the page?", focusable, images)
	}
	for _, check := range []string{
		`document.documentElement.lang === "en"`,
		`document.title !== ""`,
		`document.querySelectorAll("h1").length === 1`,
		`[...document.querySelectorAll("table")].every(t => t.caption && [...t.querySelectorAll("th")].every(h => h.scope))`,
		`new Set([...document.querySelectorAll("[id]")].map(e => e.id)).size === document.querySelectorAll("[id]").length`,
		`[...document.querySelectorAll("#plot svg")].every(s => s.querySelector("desc").textContent.length > 50 && s.getAttribute("aria-label"))`,
		`[...document.querySelectorAll("a[href^='#']")].every(a => document.getElementById(a.hash.slice(1)))`,
	} {
		if !js[bool](t, b, check) {
			t.Errorf("not so: %s", check)
		}
	}
}

// phone: at 390 pixels nothing is wider than the screen but what scrolls by
// itself, and the figure's text is as large as the page's smallest.
func (b *browser) phone(t *testing.T) {
	call(t, b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 390, Height: 844, DeviceScaleFactor: 2, Mobile: true})
	defer b.run(t, chromedp.EmulateViewport(1280, 900))
	if w := js[int](t, b, `document.scrollingElement.scrollWidth`); w > 390 {
		wide := js[[]string](t, b, `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > 391 && !e.closest(".scroll, pre")).map(e => e.tagName + "." + e.className)`)
		t.Errorf("the page is %d pixels wide: %q", w, wide)
	}
	if n := js[int](t, b, shown+".length"); n != points {
		t.Errorf("%d points are shown, want %d", n, points)
	}
	if px := js[float64](t, b, `(() => { const s = [...document.querySelectorAll("#plot svg")].find(s => s.getClientRects().length);
		return 13 * s.getBoundingClientRect().width / s.viewBox.baseVal.width; })()`); px < 11 {
		t.Errorf("the figure's text is %.1f pixels high", px)
	}
	// The finger: a tap shows the values, and these stay on the screen.
	b.run(t, chromedp.ScrollIntoView("#plot"))
	js[any](t, b, shown+`.at(-1).dispatchEvent(new MouseEvent("click", {bubbles: true}))`)
	if got := js[string](t, b, tip); !strings.Contains(got, "Mpps") {
		t.Errorf("after a tap the tip says %q", got)
	}
	if !js[bool](t, b, `(() => { const r = document.getElementById("tip").getBoundingClientRect(); return r.left >= 0 && r.right <= 390; })()`) {
		t.Error("the tip leaves the screen")
	}
}

// dark: text keeps its contrast (WCAG 2.2, 1.4.3: 4.5 to 1) in both schemes.
func (b *browser) dark(t *testing.T) {
	const contrast = `(() => { const lum = c => { const [r, g, b] = c.match(/[\d.]+/g).map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
		const paper = lum(getComputedStyle(document.body).backgroundColor);
		return Math.min(...[...document.querySelectorAll("p, li, a, small, summary, dt, td, th, h2, .wrong, figcaption, caption")].map(e => lum(getComputedStyle(e).color))
			.map(l => (Math.max(l, paper) + 0.05) / (Math.min(l, paper) + 0.05))); })()`
	seen := map[string]bool{}
	for _, scheme := range []string{"light", "dark"} {
		call(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		if c := js[float64](t, b, contrast); c < 4.5 {
			t.Errorf("%s: the least contrast is %.2f", scheme, c)
		}
		seen[js[string](t, b, `getComputedStyle(document.body).backgroundColor`)] = true
	}
	if len(seen) != 2 {
		t.Errorf("the schemes look alike: %v", seen)
	}
	call(t, b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{})
}

// withoutScript: the points' values are the browser's own tips then.
func (b *browser) withoutScript(t *testing.T) {
	call(t, b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.run(t, chromedp.Reload(), chromedp.WaitReady("footer"))
	titles, err := chromedp.Run(b.ctx, chromedp.Nodes(".point > title"))
	if err != nil || len(titles) != 2*points { // of the wide and the narrow drawing
		t.Errorf("%d titles, %v", len(titles), err)
	}
	call(t, b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false})
}

// quiet checks that nothing was said, and nothing asked for but the page.
func (b *browser) quiet() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.said {
		b.k.t.Errorf("the browser said: %s", s)
	}
	loads := 0
	for _, r := range b.requests {
		switch {
		case strings.HasPrefix(r, "file://") && strings.HasSuffix(r, "/page.html"):
			loads++
		case strings.HasPrefix(r, "data:"):
		default:
			b.k.t.Errorf("the page asked for %s", r)
		}
	}
	if loads != 2 { // opened, and opened again without a script
		b.k.t.Errorf("the page was loaded %d times: are requests counted? %q", loads, b.requests)
	}
}

// end ends the browser and waits for its process.
func (b *browser) end() {
	b.k.t.Helper()
	process := chromedp.FromContext(b.ctx).Browser.Process()
	if err := b.close(); err != nil {
		b.k.t.Errorf("end Chromium: %v", err)
	}
	for range 100 {
		if len(b.k.marked()) == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.k.t.Errorf("Chromium, process %d, went on: %v", process.Pid, b.k.marked())
	_ = process.Kill()
}
