import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

// What the page's policy forbids is never built: nothing inline, nothing from elsewhere, no script that evaluates text.
export default defineConfig(({ mode }) => ({
  base: "./",
  plugins: [svelte({ compilerOptions: { runes: true } })],
  resolve: mode === "test" ? { conditions: ["browser"] } : {},
  build: {
    outDir: "../built",
    emptyOutDir: true,
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"], // those that know light-dark()
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // In development the page is Vite's and its answers are those of `winnow inspect`, whose address is in WINNOW_INSPECT.
  server: { proxy: Object.fromEntries(["/api", "/picture", "/table"].map((path) => [path, process.env["WINNOW_INSPECT"] ?? "http://127.0.0.1:8321"])) },
  test: { environment: "happy-dom", include: ["src/**/*.test.ts"] },
}));
