// Package browser looks at the autoscaler's page with a real browser, for tests: the Chromium or Chrome
// that is on the PATH, without a window.
//
// While it looks, it watches: an error on the page's console, an exception, or a request that leaves the
// page's origin fails the test. Pictures are kept in the folder that PLIMSOLL_PICTURES names.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// programs are the names that the browser goes by.
var programs = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}

// patience bounds a whole look.
const patience = 2 * time.Minute

// Browser shows one origin.
type Browser struct {
	t      testing.TB
	ctx    context.Context
	origin string

	mu       sync.Mutex
	wrong    []string
	expected string
}

// Open starts a browser for a page, which is ended with the test.
func Open(t testing.TB, origin string) *Browser {
	t.Helper()
	var path string
	for _, name := range programs {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Fatalf("no browser is on the PATH (%s): install chromium, or run `make browser` as root on Debian or Ubuntu",
			strings.Join(programs, ", "))
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-dev-shm-usage", true))
	bounded, cancelTime := context.WithTimeout(context.Background(), patience)
	allocated, cancelAllocated := chromedp.NewExecAllocator(bounded, options...)
	ctx, cancel := chromedp.NewContext(allocated)
	b := &Browser{t: t, ctx: ctx, origin: strings.TrimSuffix(origin, "/")}
	t.Cleanup(func() {
		cancel()
		cancelAllocated()
		cancelTime()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, w := range b.wrong {
			t.Error(w)
		}
	})
	b.do(chromedp.EmulateViewport(1280, 900))
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal("listen to the browser:", err)
	}
	return b
}

// hear takes in what the browser tells.
func (b *Browser) hear(event any) {
	var wrong string
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if url := e.Request.URL; !strings.HasPrefix(url, b.origin+"/") && !strings.HasPrefix(url, "about:") {
			wrong = "a request leaves the page's origin: " + url
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			wrong = fmt.Sprintf("the browser logs an error: %s (%s)", e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		wrong = "the page throws: " + e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			wrong += " " + x.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			wrong = fmt.Sprintf("the page logs an error: %v", e.Args)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if wrong != "" && (b.expected == "" || !strings.Contains(wrong, b.expected)) {
		b.wrong = append(b.wrong, wrong)
	}
}

// Expect has errors that contain a text be none from now on.
func (b *Browser) Expect(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = text
}

func (b *Browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal("drive the browser:", err)
	}
}

// Go opens a path of the page.
func (b *Browser) Go(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.origin + path))
}

// Size gives the window another size.
func (b *Browser) Size(width, height int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
}

// Light has the system's setting be light, or dark.
func (b *Browser) Light(light bool) {
	b.t.Helper()
	mode := map[bool]string{true: "light", false: "dark"}[light]
	b.do(chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		_, err := cdp.Call(ctx, to, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: mode}}})
		return err
	}))
}

// Eval is the value of an expression on the page.
func Eval[T any](b *Browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("evaluate %s: %v", expression, err)
	}
	return v
}

// Text is the text of the page's content.
func (b *Browser) Text() string {
	b.t.Helper()
	return Eval[string](b, "document.body.innerText")
}

// Await waits until an expression is true on the page, for so long at most.
func (b *Browser) Await(what, expression string, most time.Duration) time.Duration {
	b.t.Helper()
	began := time.Now()
	for {
		// A navigation may end the page that is asked.
		yes, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")"))
		took := time.Since(began)
		switch {
		case err == nil && yes:
			return took
		case took > most:
			b.t.Fatalf("%s: not within %s (%v); the page says:\n%s", what, most, err, b.Text())
		}
		select {
		case <-b.ctx.Done():
			b.t.Fatal(what, b.ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Picture keeps a picture of the whole page, if a folder for pictures is named.
func (b *Browser) Picture(name string) {
	b.t.Helper()
	b.keep(name, chromedp.FullScreenshot(100))
}

// Window keeps a picture of what the window shows.
func (b *Browser) Window(name string) {
	b.t.Helper()
	b.keep(name, chromedp.CaptureScreenshot())
}

func (b *Browser) keep(name string, take chromedp.Action[[]byte]) {
	b.t.Helper()
	folder := os.Getenv("PLIMSOLL_PICTURES")
	if folder == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, take)
	if err != nil {
		b.t.Fatal("take a picture:", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
