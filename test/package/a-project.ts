// The package as whoever installs it has it: packed, unpacked, and beside it what it asks for and
// nothing else of this repository.

import { execFile, spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { temporaryFolder } from '../support/temporary-folder.ts'
import { unpack } from '../support/unpack.ts'

export const root = join(import.meta.dirname, '../..')

/** An install from a slow registry. */
const COMMAND_MS_MAX = 300_000

export type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string }

export function run(command: string, args: readonly string[], options: RunOptions): Promise<Ran> {
  const { cwd, env } = options
  return new Promise((resolve) => {
    const settings = { cwd, env: { ...alone, ...env }, timeout: COMMAND_MS_MAX }
    const child = execFile(command, [...args], settings, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
      resolve({ code, stdout, stderr })
    })
    // npx waits for the end of its input.
    child.stdin?.end()
  })
}

/** Nothing of npm's and vitest's: neither is there where the package is used. */
export const alone = { PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) }

export type RunOptions = {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Fails with what was said. */
export async function mustRun(...call: Parameters<typeof run>): Promise<string> {
  const { code, stdout, stderr } = await run(...call)
  if (code === 0) return stdout
  throw new Error(`${call[0]} ${call[1].join(' ')} ended with ${code}:\n${stdout}${stderr}`)
}

export type Packed = {
  readonly filename: string
  readonly size: number
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string; readonly mode: number }[]
}

/** npm takes these, whatever `files` of package.json says. */
export const alwaysPacked = ['LICENSE', 'README.md', 'package.json']

/**
 * What `npm pack` does, in a folder of its own: `dist/` here would come and go under other tests, and
 * whoever has one would lose it.
 */
export async function packInto(folder: string): Promise<Record<'pushpop' | 'client', Packed>> {
  const stage = join(folder, 'stage')
  mkdirSync(stage)
  const copied = [...packageJson.files.filter((name) => name !== 'dist'), ...alwaysPacked]
  const ofClient = ['packages/client/package.json', 'packages/client/README.md']
  for (const name of [...copied, '.gitignore', ...ofClient]) {
    cpSync(join(root, name), join(stage, name), { recursive: true })
  }
  const build = join(root, 'scripts/build-package.ts')
  await mustRun(process.execPath, [build, join(stage, 'dist')], { cwd: root })
  const into = ['--pack-destination', folder]
  return {
    pushpop: await npmPack(stage, into),
    client: await npmPack(join(stage, 'packages/client'), into),
  }
}

/** What `npm pack` would take from this folder as it is now. */
export const listPacked = (): Promise<Packed> => npmPack(root, ['--dry-run'])

async function npmPack(cwd: string, args: readonly string[]): Promise<Packed> {
  // The same npm as the one that runs the tests, where one does.
  const npm = process.env.npm_execpath
  const [command, ...before] = npm === undefined ? ['npm'] : [process.execPath, npm]
  const all = [...before, 'pack', '--json', '--ignore-scripts', ...args]
  const [packed] = JSON.parse(await mustRun(command as string, all, { cwd, env: process.env }))
  return packed as Packed
}

export type Project = {
  readonly folder: string
  /** Installs one more of this repository's packages. */
  add(name: string): void
  /** Runs this module in the project. */
  script(code: string, env?: Readonly<Record<string, string>>): Promise<string>
  /** Runs this script of CommonJS in the project, on a Node that requires no ES module. */
  commonJs(code: string): Promise<string>
  /** Type-checks these modules in the project; what is wrong, or nothing. */
  check(modules: readonly string[], options: readonly string[]): Promise<string>
  pushpop(...args: readonly string[]): Promise<Ran>
  /** `pushpop start`, until it has said where it is. */
  start(...args: readonly string[]): Promise<Started>
}

export type Started = {
  readonly url: string
  /** What it has written until now. */
  said(): string
  /** Ctrl-C; resolves to the exit code. */
  stop(): Promise<number>
}

/** What comes along when the package is installed, and what only some of its users add. */
export const dependencies = Object.keys(packageJson.dependencies)
export const peers = Object.keys(packageJson.peerDependencies)

/**
 * An empty folder outside of this repository, with the package and these packages installed. Linked,
 * not copied, for they are 200 MB: what they need themselves they find where they really are.
 */
export async function makeProject(
  tarball: string,
  others: readonly string[],
  name = 'pushpop',
): Promise<Project> {
  const folder = temporaryFolder('package')
  const modules = join(folder, 'node_modules')
  const unpacked = join(modules, name)
  mkdirSync(unpacked, { recursive: true })
  unpack(tarball, unpacked)
  const add = (name: string): void => link(join(root, 'node_modules', name), join(modules, name))
  others.forEach(add)
  const bin = join(modules, '.bin/pushpop')
  link(join(unpacked, packageJson.bin.pushpop), bin)
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')

  let count = 0
  const write = (code: string, ending: string): string => {
    count += 1
    writeFileSync(join(folder, `module-${count}${ending}`), code)
    return `module-${count}${ending}`
  }
  return {
    folder,
    add,
    script: (code, env = {}) =>
      mustRun(process.execPath, ['--no-strip-types', write(code, '.mjs')], { cwd: folder, env }),
    commonJs: (code) =>
      mustRun(process.execPath, ['--no-experimental-require-module', write(code, '.cjs')], {
        cwd: folder,
      }),
    async check(modules, options) {
      const tsc = join(root, 'node_modules/typescript/bin/tsc')
      const files = modules.map((code) => write(code, '.ts'))
      const args = [tsc, '--ignoreConfig', '--noEmit', '--strict', '--target', 'es2022', ...options]
      const { stdout, stderr } = await run(process.execPath, [...args, ...files], { cwd: folder })
      return `${stdout}${stderr}`
    },
    pushpop: (...args) => run(bin, args, { cwd: folder }),
    start: (...args) => start(bin, args, folder),
  }
}

/** `pushpop start` of that command line, until it has said where it is. */
export async function start(bin: string, args: readonly string[], cwd: string): Promise<Started> {
  const child = spawn(bin, ['start', ...args], { cwd, env: alone })
  const ended = new Promise<number>((resolve) => child.once('close', resolve))
  let said = ''
  const url = await new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text
        const [, address] = /PushPop is at (http:\S+)[\s\S]*Ctrl-C ends it/.exec(said) ?? []
        if (address !== undefined) resolve(address)
      })
    }
    ended.then((code) => reject(new Error(`it ended with ${code}: ${said}`)))
  })
  return {
    url,
    said: () => said,
    stop() {
      child.kill('SIGINT')
      return ended
    },
  }
}

function link(target: string, path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  symlinkSync(target, path)
}

/** The binary of the embedded DynamoDB for this platform, where there is one. */
export const dynoxide = readdirSync(join(root, 'node_modules/@dynoxide')).map(
  (name) => `@dynoxide/${name}`,
)
