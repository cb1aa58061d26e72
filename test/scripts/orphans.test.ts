// What an npm script runs ends when npm does, whichever way.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'

const bootstrap = join(import.meta.dirname, '../../scripts/bootstrap.mjs')

let npm: ChildProcess | undefined
afterEach(() => npm?.kill('SIGKILL'))

/** As npm does: a process, its shell, and what it runs in that. */
async function runByNpm(): Promise<number> {
  const folder = temporaryFolder()
  const pidFile = join(folder, 'pid')
  const script = join(folder, 'waits.mjs')
  writeFileSync(
    script,
    `import { renameSync, writeFileSync } from 'node:fs'
     writeFileSync('${pidFile}.new', String(process.pid))
     renameSync('${pidFile}.new', '${pidFile}')
     setInterval(() => {}, 1_000)`,
  )
  // The second command keeps the shell, whichever it is, from giving the first its own place.
  const command = `"${process.execPath}" "${bootstrap}" "${script}"; :`
  const program = `require('node:child_process').spawn('sh', ['-c', ${JSON.stringify(command)}])
    setInterval(() => {}, 1_000)`
  npm = spawn(process.execPath, ['-e', program], {
    stdio: 'ignore',
    env: { ...process.env, npm_lifecycle_event: 'start' },
  })
  while (!existsSync(pidFile)) await sleep(20)
  return Number(readFileSync(pidFile, 'utf8'))
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

it.skipIf(process.platform === 'win32')(
  'npm killed outright takes along what it ran.',
  async () => {
    const pid = await runByNpm()
    expect(isAlive(pid)).toBe(true)
    npm?.kill('SIGKILL')
    while (isAlive(pid)) await sleep(20)
  },
)
