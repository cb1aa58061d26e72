// The stack on this machine in a separate process, as `npm start` runs it.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export async function startStack(): Promise<{ port: number; stop(): Promise<void> }> {
  const script = join(import.meta.dirname, '../scripts/start.ts')
  const child = spawn(process.execPath, [script, '--port', '0', '--memory'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const port = await new Promise<number>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`The stack ended with ${code}`)))
    createInterface({ input: child.stdout }).on('line', (line) => {
      const address = /PushPop is at http:\/\/localhost:(\d+)/.exec(line)
      if (address) resolve(Number(address[1]))
    })
  })
  return {
    port,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
