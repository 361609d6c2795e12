import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// What the page's policy forbids is never built: nothing inline, nothing from elsewhere, no script that evaluates text.
export default defineConfig({
  base: "./",
  plugins: [svelte({ configFile: false, compilerOptions: { runes: true } })],
  build: {
    outDir: "../built",
    emptyOutDir: true,
    target: "es2022",
    cssTarget: ["chrome123", "firefox120", "safari17.5"], // those that know light-dark()
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    license: { fileName: "licences.md" }, // of the packages whose code is in what is built
  },
});
