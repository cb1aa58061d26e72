// Runs a CDK app as its CLI would (two variables say where to write and with which context), in a separate process, so
// that the CDK's 100 MB do not stay. We keep the result under a hash of the sources: without a change the next start
// takes it as it is, and two stacks that start at the same time do not write into each other's folder.

import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, extname, join, resolve } from 'node:path'
import { LOCAL } from '../../lib/constructs/function-settings.ts'
import { messageOf, StartError } from '../start-error.ts'
import { isObject } from '../template/assembly.ts'
import { loaderAdvice, loaderOf } from './loader.ts'
import { hashSources } from './source-hash.ts'

/** PushPop's own; JavaScript in the package. */
export const pushPop = join(
  import.meta.dirname,
  `../../bin/pushpop${extname(import.meta.filename)}`,
)

export type SynthesisOptions = {
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
