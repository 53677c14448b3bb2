// Builds `dist`, which is checked in: stable names, no dates, nothing of the machine that built it. `npm run dev` serves the pages
// as they are in `src`, and hands their requests to a server.
import { defineConfig } from "vite";

const SERVER = process.env["FAIRSHARED_SERVER"] ?? "http://127.0.0.1:8080";

export default defineConfig(({ command }) => ({
  base: command === "serve" ? "/ui/" : "./",
  server: { proxy: { "/graphql": SERVER, "/ui/session": SERVER } },
  publicDir: "public",
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        entryFileNames: "assets/app.js",
        chunkFileNames: "assets/[name].js",
        assetFileNames: (asset) => (asset.names.some((name) => name.endsWith(".css")) ? "assets/app.css" : "assets/[name][extname]"),
      },
    },
  },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"], setupFiles: ["src/lib/metadata.sample.ts"], environment: "node" },
}) as ReturnType<Extract<Parameters<typeof defineConfig>[0], (...args: never[]) => object>>);
