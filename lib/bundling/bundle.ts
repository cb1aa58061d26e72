// Bundles handlers by esbuild: what they share becomes chunks, clients that are seldom needed are loaded when they are,
// and for our own functions leaner modules stand in for some of the SDK's. The same sources give the same bytes.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, extname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { BuildOptions, Metafile } from 'esbuild'
import type { Bundling } from '../constructs/function-settings.ts'

export const root = resolve(import.meta.dirname, '../..')

/** A file beside this one: JavaScript in the package. */
const beside = (name: string): string =>
  join(import.meta.dirname, `${name}${extname(import.meta.filename)}`)

/** One function: `index.mjs`, whose export `handler` Lambda calls, and its chunks. */
export type FunctionFiles = { readonly files: ReadonlyMap<string, Uint8Array> }

export type Bundle = FunctionFiles & {
  /** Loaded at a cold start: the entry and everything it imports statically. */
  readonly bytesAtStart: number
  /** Loaded by `import()` when first needed, if ever. */
  readonly bytesLazy: number
  /** The source files loaded at the start, and their bytes in the bundle. */
  readonly inputsAtStart: ReadonlyMap<string, number>
  /** What the entry exports under names that an ES module's `import` finds. */
  readonly exports: readonly string[]
  /** Every source file that something in it is from, loaded at the start or not. */
  readonly inputs: ReadonlySet<string>
  /** The source files that this one imports. */
  importsOf(input: string): readonly string[]
}

/**
 * Clients that a function loads when it first needs them, if ever. SQS's has only the parts that our own functions use:
 * a consumer that uses SQS itself bundles it like any other package.
 */
const lazyClientsOf = (own: boolean): readonly string[] =>
  own ? ['client-s3', 'client-sqs'] : ['client-s3']

/**
 * Bundles all handlers in one build: they share nearly everything, and a build for each, which parses
 * the AWS SDK again, takes 2 s in all where one takes 0.3. Code that several handlers use becomes a chunk, of which each gets
 * a copy. The same sources give the same bytes on every machine, so a deployment uploads only changes.
 */
export function bundle<Name extends string>(
  entries: Readonly<Record<Name, string>>,
  { sourceMap = false, ...bundling }: Bundling = {},
): ReadonlyMap<Name, Bundle> {
  const names = Object.keys(entries) as Name[]
  for (const name of names) {
    const file = entries[name]
    if (existsSync(file)) continue
    const where = isAbsolute(file) ? '' : ` in ${process.cwd()}, where relative paths begin`
    throw new Error(`Cannot bundle ${relative('', file)} because there is no such file${where}`)
  }
  const built = buildAll(entries, bundling, sourceMap && 'linked')
  return new Map(names.map((name) => [name, bundleOf(`${name}.mjs`, built)]))
}

/** The files of all these handlers and their source maps, by the name that each has in a bundle. */
export function sourceMapsOf(
  entries: Readonly<Record<string, string>>,
): ReadonlyMap<string, string> {
  // With a map, a chunk's name is a hash of the map too. So we match the two builds by the order of their
  // files, which is the same.
  const plain = [...buildAll(entries).outputs.keys()]
  const mapped = [...buildAll(entries, {}, 'external').outputs.values()]
  return new Map(plain.map((name, index) => [name, mapped[index]?.sourceMap ?? '']))
}

function buildAll(
  entries: Readonly<Record<string, string>>,
  { external = [], banner, define = {}, minify = true }: Bundling = {},
  sourcemap: 'external' | 'linked' | false = false,
): Built {
  const isOurs = isOwn(entries)
  const lazyClients = lazyClientsOf(isOurs)
  const own = isOurs ? standIns : {}
  const handlers = build(entries, {
    sourcemap,
    minify,
    define: { ...define },
    ...(banner !== undefined && { banner: { js: banner } }),
    // These clients have separate builds. In one build, esbuild would put everything that two clients could reach
    // into a chunk that is loaded at the start: from S3's client, 42 KB of XML, and a cold start of 1.27 instead
    // of 1.13 times that of a bare DynamoDB client.
    alias: {
      ...own,
      ...Object.fromEntries(lazyClients.map((name) => [`@aws-sdk/${name}`, `./${name}.mjs`])),
    },
    external: [...lazyClients.map((name) => `./${name}.mjs`), ...external],
  })
  const imported = new Set(
    [...handlers.outputs.values()].flatMap(({ imports }) => imports.map(({ path }) => path)),
  )
  const lazy = lazyClients
    .filter((name) => imported.has(`./${name}.mjs`))
    // Their code is the SDK's, so only our own functions get a map of it.
    .map((name) =>
      build(
        { [name]: beside(name) },
        { alias: own, sourcemap: sourcemap === 'external' && sourcemap },
      ),
    )
  return {
    outputs: new Map([...lazy, handlers].flatMap(({ outputs }) => [...outputs])),
    sources: Object.assign({}, ...lazy.map(({ sources }) => sources), handlers.sources),
  }
}

/** What the service's own functions use in place of the SDK's modules. */
const standIns = {
  '@aws-sdk/lib-dynamodb': beside('own-commands'),
  '@smithy/node-http-handler': beside('own-request-handler'),
}

/** Whether all are the service's own functions: we know their clients. A consumer may make others. */
const isOwn = (entries: Readonly<Record<string, string>>): boolean =>
  Object.values(entries).every((path) => path.startsWith(join(root, 'lambdas/handlers/')))

export function writeBundle({ files }: FunctionFiles, outdir: string): void {
  mkdirSync(outdir, { recursive: true })
  for (const [name, contents] of files) writeFileSync(join(outdir, name), contents)
}

type Output = Metafile['outputs'][string] & {
  readonly contents: Uint8Array
  readonly sourceMap: string | undefined
}

type Built = {
  readonly outputs: ReadonlyMap<string, Output>
  readonly sources: Metafile['inputs']
}

type OptionsOfOne = 'alias' | 'external' | 'sourcemap' | 'banner' | 'define' | 'minify'

function build(
  entries: Readonly<Record<string, string>>,
  { alias, external = [], ...options }: Pick<BuildOptions, OptionsOfOne>,
): Built {
  const { outputFiles, metafile } = loadEsbuild().buildSync({
    absWorkingDir: root,
    entryPoints: Object.entries(entries).map(([out, path]) => ({ in: path, out })),
    // esbuild writes nothing there, but its names have to be relative to something.
    outdir: join(root, 'bundle'),
    write: false,
    bundle: true,
    format: 'esm',
    // Without splitting, a module behind an `import()` would still be loaded at the start.
    splitting: true,
    platform: 'node',
    target: 'node24',
    // esbuild's own choice for Node are the CommonJS builds: half as large again, and they `require`
    // what an ES module cannot.
    mainFields: ['module', 'main'],
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunk-[hash]',
    minify: true,
    // Only places, because the sources themselves would make the map five times as large.
    sourcesContent: false,
    ...options,
    legalComments: 'none',
    alias: {
      '@aws-sdk/credential-provider-node': beside('env-credentials'),
      ...alias,
    },
    external,
    metafile: true,
    // esbuild throws its errors, so it need not print them.
    logLevel: 'silent',
  })
  const files = new Map(outputFiles.map((file) => [basename(file.path), file]))
  const outputs = new Map(
    Object.entries(metafile.outputs)
      .map(([path, output]): [string, Metafile['outputs'][string]] => [basename(path), output])
      .filter(([name]) => !name.endsWith('.map'))
      .map(([name, output]) => {
        const contents = files.get(name)?.contents as Uint8Array
        return [name, { ...output, contents, sourceMap: files.get(`${name}.map`)?.text }]
      }),
  )
  return { outputs, sources: metafile.inputs }
}

/** Loaded only to bundle: the package holds its functions ready-made, and does not bring esbuild. */
function loadEsbuild(): typeof import('esbuild') {
  try {
    return createRequire(import.meta.url)('esbuild')
  } catch (cause) {
    throw new Error(
      'Cannot bundle a function because esbuild is not installed: npm install --save-dev esbuild',
      { cause },
    )
  }
}

function bundleOf(entry: string, { outputs, sources }: Built): Bundle {
  const atStart = reachable(entry, outputs, ['import-statement'])
  const all = reachable(entry, outputs, ['import-statement', 'dynamic-import'])
  const bytesIn = (reached: ReadonlyMap<string, Output>): number =>
    [...reached.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  return {
    files: new Map(
      [...all].flatMap(([name, { contents, sourceMap }]): [string, Uint8Array][] => {
        const file = name === entry ? 'index.mjs' : name
        if (sourceMap === undefined) return [[file, contents]]
        return [
          [file, contents],
          [`${file}.map`, Buffer.from(withOwnPaths(sourceMap))],
        ]
      }),
    ),
    bytesAtStart: bytesIn(atStart),
    bytesLazy: bytesIn(all) - bytesIn(atStart),
    inputsAtStart: new Map(
      [...atStart.values()].flatMap(({ inputs }) =>
        Object.entries(inputs).map(([path, { bytesInOutput }]) => [path, bytesInOutput]),
      ),
    ),
    exports: outputs.get(entry)?.exports ?? [],
    inputs: new Set([...all.values()].flatMap(({ inputs }) => Object.keys(inputs))),
    importsOf: (input) => sources[input]?.imports.map(({ path }) => path) ?? [],
  }
}

/** Sources by their paths from where the app runs: a trace then says `src/ship.ts`, on every machine. */
function withOwnPaths(sourceMap: string): string {
  const map = JSON.parse(sourceMap) as { sources: string[] }
  const sources = map.sources.map((path) =>
    relative('', resolve(root, 'bundle', path)).replaceAll(sep, '/'),
  )
  return JSON.stringify({ ...map, sources })
}

/** An entry and what it imports, directly or not; modules of Node itself have no output. */
function reachable(
  entry: string,
  outputs: ReadonlyMap<string, Output>,
  kinds: readonly string[],
): ReadonlyMap<string, Output> {
  const found = new Map<string, Output>()
  const visit = (name: string): void => {
    const output = outputs.get(name)
    if (output === undefined || found.has(name)) return
    found.set(name, output)
    for (const { path, kind } of output.imports) if (kinds.includes(kind)) visit(basename(path))
  }
  visit(entry)
  return found
}
