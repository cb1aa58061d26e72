// What an npm script runs ends when npm does, whichever way.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { hasProc, isAlive } from '../support/processes.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const scripts = join(import.meta.dirname, '../../scripts')
const bootstrap = join(scripts, 'bootstrap.mjs')

const started: number[] = []
afterEach(() => {
  for (const pid of started.splice(0)) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
})

/** Ten seconds: what an npm script runs looks up five times a second. */
async function until(holds: () => boolean): Promise<void> {
  const deadlineMs = Date.now() + 10_000
  while (!holds() && Date.now() < deadlineMs) await sleep(20)
}

/**
 * As npm does: a process, its shell, and what it runs in that. With `above`, this shell command starts npm, and does
 * not ask how npm ended.
 */
async function runByNpm(
  above?: string,
): Promise<{ readonly npm: number; readonly script: number }> {
  const folder = temporaryFolder()
  const writing = (name: string) =>
    `import { renameSync, writeFileSync } from 'node:fs'
     writeFileSync('${join(folder, name)}.new', String(process.pid))
     renameSync('${join(folder, name)}.new', '${join(folder, name)}')
     setInterval(() => {}, 1_000)\n`
  const script = join(folder, 'script.mjs')
  writeFileSync(script, writing('script'))
  // The second command keeps the shell, whichever it is, from giving the first its own place.
  const command = `"${process.execPath}" "${bootstrap}" "${script}"; :`
  const npm = join(folder, 'npm.mjs')
  writeFileSync(
    npm,
    `import { spawn } from 'node:child_process'
     spawn('/bin/sh', ['-c', ${JSON.stringify(command)}])
     ${writing('npm')}`,
  )
  const asShell = ['/bin/sh', ['-c', above ?? '', process.execPath, npm]] as const
  const [program, args] = above === undefined ? [process.execPath, [npm]] : asShell
  const child: ChildProcess = spawn(program, args, {
    stdio: 'ignore',
    env: {
      ...process.env,
      npm_lifecycle_event: 'start',
      // A machine with Node and npm alone has no `ps`.
      ...(hasProc && { PATH: folder }),
    },
  })
  started.push(child.pid ?? 0)
  const pidOf = (name: string) => Number(readFileSync(join(folder, name), 'utf8'))
  await until(() => existsSync(join(folder, 'script')) && existsSync(join(folder, 'npm')))
  const pids = { npm: pidOf('npm'), script: pidOf('script') }
  started.push(...Object.values(pids))
  return pids
}

describe.skipIf(process.platform === 'win32')('npm killed outright takes along what it ran', () => {
  it.each([
    ['where its parent asks how it ended', undefined],
    // As in a container, where npm's parent may know nothing of children.
    ['where its parent never asks', '"$0" "$1" & exec /bin/sleep 60'],
  ])('%s', async (_, above) => {
    const { npm, script } = await runByNpm(above)
    expect(isAlive(script)).toBe(true)
    process.kill(npm, 'SIGKILL')
    await until(() => !isAlive(script))
    expect(isAlive(script)).toBe(false)
  })
})

it.skipIf(process.platform === 'win32')(
  'A server ends when bootstrap is killed outright.',
  async () => {
    const folder = temporaryFolder()
    const script = join(folder, 'server.mjs')
    writeFileSync(
      script,
      `import ${JSON.stringify(join(scripts, 'end-with-bootstrap.ts'))}
     import { writeFileSync } from 'node:fs'
     setInterval(() => {}, 1_000)
     writeFileSync('${join(folder, 'pid')}', String(process.pid))`,
    )
    const child = spawn(process.execPath, [bootstrap, script], { stdio: 'ignore' })
    const pidOf = () =>
      Number(existsSync(join(folder, 'pid')) && readFileSync(join(folder, 'pid'), 'utf8'))
    await until(() => pidOf() > 0)
    started.push(pidOf())
    expect(isAlive(pidOf())).toBe(true)
    child.kill('SIGKILL')
    await until(() => !isAlive(pidOf()))
    expect(isAlive(pidOf())).toBe(false)
  },
)
