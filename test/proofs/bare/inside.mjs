// Runs on the bare machine, on its own Node: `npm start` after a clone, then the same and `npm test` in a folder whose
// path has spaces.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, renameSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const clone = join(homedir(), 'pushpop')
const withSpaces = join(homedir(), 'with spaces', 'push pop')

await start(clone)
mkdirSync(join(withSpaces, '..'))
renameSync(clone, withSpaces)
await start(withSpaces)
process.exitCode = await test(withSpaces, JSON.parse(process.argv[2] ?? '[]'))

/** @param {string} cwd */
async function start(cwd) {
  const startedMs = Date.now()
  const npm = spawn('npm', ['start', '--', '--port', '0', '--memory'], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  npm.stdout.setEncoding('utf8').on('data', (text) => {
    said += text
  })
  npm.on('close', () => {
    said += '\nnpm ended'
  })
  await until(() => /Ctrl-C ends it|npm ended/.test(said), 300_000)
  const [url] = /http:\/\/localhost:\d+/.exec(said) ?? []
  if (!url || said.includes('npm ended')) throw new Error(`npm start did not start:\n${said}`)
  /** @param {string} path @param {object} body */
  const post = async (path, body) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    return /** @type {any} */ (await answer.json())
  }
  await post('/queue/orders/push', { items: [{ item: { order: 17 } }] })
  const popped = await post('/queue/orders/pop', {})
  if (popped.items?.[0]?.order !== 17) throw new Error(`npm start: ${JSON.stringify(popped)}`)
  npm.kill('SIGKILL')
  const isDown = () =>
    fetch(url).then(
      () => false,
      () => true,
    )
  if (!(await until(isDown, 10_000))) throw new Error('The server outlived the npm that ran it')
  const seconds = ((Date.now() - startedMs) / 1000).toFixed(0)
  console.log(`npm start in "${cwd}": pushed, popped and ended with its npm in ${seconds} s`)
}

/** @param {string} cwd @param {readonly string[]} files */
async function test(cwd, files) {
  const startedMs = Date.now()
  const args = files.length === 0 ? [] : ['--', ...files]
  const npm = spawn('npm', ['test', ...args], { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
  const [code] = await once(npm, 'close')
  const seconds = ((Date.now() - startedMs) / 1000).toFixed(0)
  console.log(`npm test in "${cwd}": ${code === 0 ? 'passed' : 'FAILED'} in ${seconds} s`)
  return code ?? 1
}

/** @param {() => boolean | Promise<boolean>} holds @param {number} withinMs */
async function until(holds, withinMs) {
  const deadlineMs = Date.now() + withinMs
  while (Date.now() < deadlineMs) {
    if (await holds()) return true
    await sleep(50)
  }
  return false
}
