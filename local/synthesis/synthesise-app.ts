// Runs a CDK app as its CLI would (two variables say where to write and with which context), in a separate process, so
// that the CDK's 100 MB do not stay. We keep the result under a hash of the sources: without a change the next start
// takes it as it is, and two stacks that start at the same time do not write into each other's folder.

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { LOCAL } from '../../lib/constructs/function-settings.ts'
import { messageOf, StartError } from '../start-error.ts'
import { isObject } from '../template/assembly.ts'

/** PushPop's own; JavaScript in the package. */
export const pushPop = join(
  import.meta.dirname,
  `../../bin/pushpop${extname(import.meta.filename)}`,
)

type SynthesisOptions = {
  /** The file that is the CDK app. */
  readonly app: string
  readonly context?: Readonly<Record<string, unknown>> | undefined
  /** Where to keep results. Default: `node_modules/.cache` of the project. */
  readonly cacheDirectory?: string | undefined
  /** What is no source, wherever it is: the data, and what a start writes. */
  readonly except?: readonly string[] | undefined
  /** Called if it will take seconds. */
  readonly onStart?: (() => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/** We delete all but so many folders, and none that a stack of today may be running. */
const KEPT = 4
const KEPT_MS = 86_400_000

/** A failed build may have a line for each of a hundred mistakes. */
const LINES_MAX = 4

export const cacheOf = (root: string): string => join(root, 'node_modules/.cache/pushpop')

/** Returns the folder of the cloud assembly. */
export async function synthesiseApp(options: SynthesisOptions): Promise<string> {
  const app = resolve(options.app)
  if (!existsSync(app)) {
    throw new StartError(`Cannot synthesise ${options.app} because there is no such file`)
  }
  const root = projectOf(app)
  const isForeign = app !== pushPop
  const settings = settingsOf(app, root)
  const context = JSON.stringify({
    ...(isObject(settings.context) && settings.context),
    // Without it the template does not say where the code of a function is.
    'aws:cdk:enable-asset-metadata': true,
    [LOCAL]: true,
    ...options.context,
  })
  const cache = options.cacheDirectory ?? cacheOf(root)
  // Our own app does not depend on the environment.
  const environment = isForeign ? JSON.stringify(environmentOf(process.env)) : ''
  const more = [app, context, process.version, environment]
  const kept = join(cache, hashSources({ root, more, except: options.except, isForeign }))
  if (existsSync(join(kept, 'manifest.json'))) {
    const now = new Date()
    await utimes(kept, now, now)
    return kept
  }

  options.onStart?.()
  await mkdir(cache, { recursive: true })
  const fresh = await mkdtemp(join(cache, 'fresh-'))
  try {
    await run({ app, root, outdir: fresh, context, command: settings.app, signal: options.signal })
    await rename(fresh, kept)
  } catch (error) {
    await rm(fresh, { recursive: true, force: true })
    // Another start was a moment quicker.
    if (!existsSync(join(kept, 'manifest.json'))) throw error
  }
  await prune(cache)
  return kept
}

type Run = {
  readonly app: string
  readonly root: string
  readonly outdir: string
  readonly context: string
  /** The `app` of cdk.json. */
  readonly command: unknown
  readonly signal: AbortSignal | undefined
}

async function run({ app, root, outdir, context, command, signal }: Run): Promise<void> {
  const loader = loaderOf(app, root, command)
  const child = spawn(process.execPath, [...loader.args, app], {
    cwd: root,
    env: {
      ...loader.env,
      // Whether CloudFormation would take it matters when it is deployed, and takes two seconds to tell.
      CDK_VALIDATION: 'false',
      ...process.env,
      CDK_OUTDIR: outdir,
      CDK_CONTEXT_JSON: context,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
  })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  const code = await new Promise((done, reject) => {
    child.on('error', reject)
    child.on('close', (exitCode, killedBy) => done(killedBy ?? exitCode))
  })
  if (code === 0 && existsSync(join(outdir, 'manifest.json'))) return
  const reason =
    code === 0
      ? 'it wrote no cloud assembly; it must be the file with `new App()`, often in bin/'
      : `${findReason(output) || `exit ${code}`}${loaderAdvice(app, loader, output)}`
  throw new StartError(`Cannot synthesise ${app} because of this: ${reason}`)
}

/** The message of an app's error and the place, without the stack trace. */
export function findReason(output: string): string {
  const lines = output.split('\n').map((line) => line.trimEnd())
  const start = Math.max(
    0,
    lines.findIndex((line) => /^(Uncaught )?\w*Error\b/.test(line)),
  )
  const rest = lines.slice(start)
  const end = rest.findIndex((line, index) => line === '' || (index > 0 && /^\s+at /.test(line)))
  const message = rest
    .slice(0, end < 0 ? LINES_MAX : Math.min(end, LINES_MAX))
    .map((line) => line.trim())
    .join(' ')
    .replace(/^(Uncaught )?\w*Error( \[\w+\])?: /, '')
  // Node says first where it found what it could not compile.
  const place = /^file:\/\/(.*:\d+)$/.exec(lines[0] ?? '')?.[1]
  return place && message ? `${message} (${place})` : message
}

/** These are of the terminal, the shell or npm. An app that reads them would be synthesised too often. */
const OF_THE_SHELL =
  /^(?:_|npm_.*|INIT_CWD|SHLVL|PWD|OLDPWD|COLUMNS|LINES|TERM.*|COLORTERM|WINDOWID|SSH_.*|TMUX.*|STY|XDG_.*|DBUS_.*|NODE_COMPILE_CACHE|VITEST.*|TINYPOOL.*)$/

/** The part of the environment that an app can see, in a fixed order. */
const environmentOf = (environment: NodeJS.ProcessEnv) =>
  Object.entries(environment)
    .filter(([name]) => !OF_THE_SHELL.test(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))

/** The folder with the package.json that the app belongs to. */
export function projectOf(app: string): string {
  return upwards(dirname(app), 'package.json') ?? dirname(app)
}

/** The settings in the app's cdk.json, among them the feature flags that the CLI would pass to the app. */
function settingsOf(app: string, root: string): Readonly<Record<string, unknown>> {
  const directory = upwards(dirname(app), 'cdk.json')
  // A cdk.json above the project belongs to another one.
  if (!directory?.startsWith(root)) return {}
  const file = join(directory, 'cdk.json')
  try {
    const settings: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return isObject(settings) ? settings : {}
  } catch (error) {
    throw new StartError(`Cannot read ${file} because of this: ${messageOf(error)}`)
  }
}

function upwards(from: string, name: string): string | undefined {
  for (let directory = from; ; directory = dirname(directory)) {
    if (existsSync(join(directory, name))) return directory
    if (directory === dirname(directory)) return undefined
  }
}

async function prune(cache: string): Promise<void> {
  const folders = await Promise.all(
    (await readdir(cache)).map(async (name) => {
      const path = join(cache, name)
      return { path, usedMs: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0 }
    }),
  )
  const old = folders
    .sort((a, b) => b.usedMs - a.usedMs)
    .slice(KEPT)
    .filter(({ usedMs }) => usedMs < Date.now() - KEPT_MS)
  await Promise.all(old.map(({ path }) => rm(path, { recursive: true, force: true })))
}

const sourceEndings = new Set(['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.json'])
/** Installed packages stand for themselves in the lock file. */
const elsewhere = new Set(['node_modules', 'cdk.out', 'coverage'])

type HashedProject = {
  readonly root: string
  /** What else determines the result, such as the app and its context. */
  readonly more: readonly string[]
  /** Folders and files that are no sources. */
  readonly except?: readonly string[] | undefined
  /** An app that is not ours may read any file: the others count by their size and time. */
  readonly isForeign?: boolean | undefined
}

/**
 * A hash of everything in a project that its CDK app could be made of: every source, whether the app reads
 * it or not, because finding out would take as long as running the app.
 */
function hashSources({ root, more, except, isForeign = false }: HashedProject): string {
  const hash = createHash('sha256')
  for (const text of more) hash.update(`${text.length}:${text}`)
  for (const path of filesOf(root, except)) {
    if (isSource(path)) {
      const content = ifThere(() => readFileSync(join(root, path)))
      if (content) hash.update(`${path}:${content.length}:`).update(content)
    } else if (isForeign) {
      hash.update(`${path}:${stampOf(join(root, path))}:`)
    }
  }
  return hash.digest('hex').slice(0, 32)
}

export const isSource = (path: string): boolean => sourceEndings.has(extname(path))

/** Changes whenever the file is written; empty if there is no such file. */
export function stampOf(file: string): string {
  const stat = ifThere(() => statSync(file))
  return stat ? `${stat.mtimeMs} ${stat.size}` : ''
}

/** An editor's temporary file may be gone by now. */
function ifThere<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Relative to the root, without what is in folders of tools. */
export function* filesOf(
  root: string,
  except: readonly string[] = [],
  folder = '',
): Generator<string> {
  const entries = ifThere(() => readdirSync(join(root, folder), { withFileTypes: true })) ?? []
  // In one order on every machine and every day.
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (except.includes(join(root, path))) continue
    if (entry.isFile()) yield path
    // Dot folders are tools', and the data of `npm start`.
    if (!entry.isDirectory() || entry.name.startsWith('.') || elsewhere.has(entry.name)) continue
    yield* filesOf(root, except, path)
  }
}

type Loader = {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Named in cdk.json, and not there: npx would have downloaded it. */
  readonly missing?: Runner | undefined
}

type Runner = 'tsx' | 'ts-node'

const isTypeScript = (app: string): boolean => /\.[cm]?ts$/.test(app)

/**
 * How Node runs an app in TypeScript: by itself, unless the project's cdk.json says with what. What `cdk init` writes
 * imports files without their extensions, which Node alone does not find. `command` is the `app` of cdk.json: `npx tsx
 * bin/app.ts`.
 */
function loaderOf(app: string, root: string, command: unknown): Loader {
  const alone = { args: [], env: {} }
  if (!isTypeScript(app) || typeof command !== 'string') return alone
  // Also `node_modules/.bin/tsx`, `npx tsx@4` and `node --import tsx`.
  const runner = /(?:^|[\s/])(tsx|ts-node)(?=[\s@]|$)/.exec(command)?.[1] as Runner | undefined
  if (runner === undefined) return alone
  const file = resolveFrom(root, runner === 'tsx' ? 'tsx' : 'ts-node/register')
  if (file === undefined) return { ...alone, missing: runner }
  return runner === 'tsx'
    ? { args: ['--import', pathToFileURL(file).href], env: {} }
    : {
        args: ['--require', file],
        // Like Node and tsx, it only takes the types away: a build checks them.
        env: { TS_NODE_TRANSPILE_ONLY: 'true', TS_NODE_PREFER_TS_EXTS: 'true' },
      }
}

function resolveFrom(root: string, name: string): string | undefined {
  try {
    return createRequire(join(root, 'package.json')).resolve(name)
  } catch {
    return undefined
  }
}

const OF_THE_LOADER =
  /ERR_MODULE_NOT_FOUND|ERR_UNSUPPORTED_DIR_IMPORT|ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX|ERR_UNKNOWN_FILE_EXTENSION|Cannot find module '\.|in ES module scope|outside a module/

/** Advice if Node could not run an app that a loader could run; empty if the problem is another one. */
function loaderAdvice(app: string, { args, missing }: Loader, output: string): string {
  if (!isTypeScript(app) || args.length > 0 || !OF_THE_LOADER.test(output)) return ''
  if (missing !== undefined) {
    return `; cdk.json runs it with ${missing}, which is not installed: npm install --save-dev ${missing}`
  }
  return (
    "; Node runs TypeScript by itself if each import names a whole file ('../lib/a.ts'); else install tsx " +
    '(npm install --save-dev tsx), and name it in cdk.json: "app": "npx tsx bin/app.ts"'
  )
}
