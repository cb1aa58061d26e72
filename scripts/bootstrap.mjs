// Installs the packages of package-lock.json if node_modules differs, and runs a script on the Node 24 in
// node_modules:
//
//   node scripts/bootstrap.mjs scripts/gate.ts ...
//   node scripts/bootstrap.mjs                       only installs
//
// Each of npm's scripts begins with this. A pre-script would not do: npm skips those if the user has set
// ignore-scripts, and a shell that found Node 20 before the install goes on using it.
//
// Plain JavaScript on built-in modules: this file runs before anything is installed, on Node 20.

import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const nodeBinary = join(
  root,
  'node_modules/node/bin',
  process.platform === 'win32' ? 'node.exe' : 'node',
)
const hasProc = existsSync('/proc/self/stat')

/**
 * The paths in the lock file whose installed package is absent or another one. Compares content,
 * not timestamps, because git changes those.
 *
 * @typedef {{ version?: string, integrity?: string, optional?: boolean, link?: boolean }} Entry
 * @typedef {{ packages?: Record<string, Entry> }} Lock
 * @param {Lock} lock package-lock.json
 * @param {Lock} installed node_modules/.package-lock.json, which npm writes last
 * @returns {string[]}
 */
export function missing(lock, installed) {
  return (
    Object.entries(lock.packages ?? {})
      // The others are this repository itself and its folder `dynoxide`, which nothing installs.
      .filter(([path]) => path.startsWith('node_modules/'))
      .filter(([path, wanted]) => !wanted.link && !isInstalled(path, wanted))
      .map(([path]) => path)
  )

  /** @param {string} path @param {Entry} wanted */
  function isInstalled(path, wanted) {
    const found = installed.packages?.[path]
    // Other platforms' binaries are listed as optional and never installed.
    if (!found) return wanted.optional === true
    // Entries written by hand carry no integrity, but npm records the one it downloaded.
    const isSameContent = !wanted.integrity || found.integrity === wanted.integrity
    return found.version === wanted.version && isSameContent
  }
}

/** @param {string} path @returns {Lock} */
function readLock(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    // Absent or cut off: then everything is missing, and the install repairs it.
    return {}
  }
}

function isStale() {
  if (!existsSync(nodeBinary)) return true
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  return missing(lock, readLock(join(root, 'node_modules/.package-lock.json'))).length > 0
}

/** @param {boolean} isThere whether there is a node_modules */
export const installing = (isThere) =>
  `Installing dependencies (npm ci)${isThere ? ': node_modules differs from package-lock.json' : ''}`

function install() {
  console.error(installing(existsSync(join(root, 'node_modules'))))
  const options = [
    'ci',
    '--include=dev', // NODE_ENV=production would leave Node 24 out
    '--ignore-scripts=false', // the install script of `node` puts its binary in place
    '--prefer-offline', // what the lock file names never changes, so npm need not ask whether its copy is old
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]
  const npm = process.env.npm_execpath
  // The same npm on the same Node as the one that started us. Not process.execPath where it can
  // be helped: it may be the binary in node_modules, which the install removes first.
  const result = npm
    ? spawnSync(process.env.npm_node_execpath ?? process.execPath, [npm, ...options], {
        cwd: root,
        stdio: 'inherit',
      })
    : spawnSync('npm', options, {
        cwd: root,
        stdio: 'inherit',
        shell: process.platform === 'win32',
      })
  if (result.error) {
    console.error(`Cannot install dependencies because npm did not start: ${result.error.message}`)
    process.exit(1)
  }
  if (result.status !== 0) process.exit(result.status ?? 1)
  if (isStale()) {
    console.error(
      'Cannot go on because node_modules still differs from package-lock.json after npm ci.\n' +
        'If npm is configured with allow-scripts or omit, allow the install script of `node` and dev dependencies.',
    )
    process.exit(1)
  }
}

/** @param {string[]} command a script and its arguments */
function run(command) {
  // npm passes a signal only to its shell, which dies of it. If npm itself is killed, it passes nothing on, and its
  // shell stays. All that we can see is that one of them is gone.
  const above = [process.ppid, ...npmAbove(process.ppid)]
  // Start a separate process even on Node 24, so that a script sees itself as the main module.
  const child = spawn(nodeBinary, command, {
    stdio: 'inherit',
    env: {
      ...process.env,
      PATH: withNode24First(process.env.PATH),
      PUSHPOP_BOOTSTRAP: String(process.pid),
    },
  })
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => child.kill(signal))
  }
  setInterval(() => {
    if (process.ppid !== above[0] || above.some(isGone)) child.kill('SIGTERM')
  }, 200).unref()
  child.on('error', (error) => {
    console.error(`Cannot run ${command[0]} because Node 24 did not start: ${error.message}`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (signal ? constants.signals[signal] : 0)
  })
}

/**
 * What the system says about a process. A bare machine has no `ps`, and macOS no /proc.
 *
 * @param {number} pid @returns {{ name: string, parent: number, hasEnded: boolean } | undefined}
 */
function processOf(pid) {
  if (!hasProc) {
    const { stdout } = spawnSync('ps', ['-o', 'stat=,ppid=,comm=', '-p', String(pid)], {
      encoding: 'utf8',
    })
    const [, state, parent, name] = /^\s*(\S+)\s+(\d+)\s+(\S+)/.exec(stdout ?? '') ?? []
    return name ? { name, parent: Number(parent), hasEnded: state?.[0] === 'Z' } : undefined
  }
  try {
    // "12 (a name) S 1 ...": the name may hold anything, so read to its last bracket.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [, name = '', state, parent] = /^\d+ \((.*)\) (\S) (\d+)/s.exec(stat) ?? []
    return { name, parent: Number(parent), hasEnded: state === 'Z' }
  } catch {
    return undefined
  }
}

/** @param {number} pid */
function isGone(pid) {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'ESRCH'
  }
  // What has ended stays in the list until its parent asks how, and some parents never ask. Five times a second we
  // read a file, but start no program.
  return hasProc && processOf(pid)?.hasEnded === true
}

/**
 * npm, if its shell started us. Some shells replace themselves with the program that they run. Then there is no shell
 * in between, and the process that started npm may end before it.
 *
 * @param {number} parent @returns {number[]}
 */
function npmAbove(parent) {
  if (process.env.npm_lifecycle_event === undefined || process.platform === 'win32') return []
  const shell = processOf(parent)
  return shell && /(^|\/)-?(sh|dash|bash|zsh|ash)$/.test(shell.name) ? [shell.parent] : []
}

/** @param {string | undefined} path */
function withNode24First(path) {
  const separator = process.platform === 'win32' ? ';' : ':'
  const folder = dirname(nodeBinary)
  // A script that a script starts has the same environment, of which much is remembered.
  if (path?.split(separator)[0] === folder) return path
  return [folder, ...(path ? [path] : [])].join(separator)
}

const isMain =
  process.argv[1] !== undefined &&
  realpathSync(process.argv[1]) === realpathSync(fileURLToPath(import.meta.url))

if (isMain) {
  if (isStale()) install()
  const command = process.argv.slice(2)
  if (command.length > 0) run(command)
}
