// Keeps an embedded DynamoDB on one port and one file; on request it kills it and starts it again. It is
// a separate process so that DynamoDB ends with it, whatever happens to the test.

import { type ChildProcess, spawn } from 'node:child_process'

type HostSetting = { readonly binary: string; readonly port: number; readonly file: string }
export type HostMessage = 'listening' | 'failed'

const { binary, port, file } = JSON.parse(process.argv[2] ?? '{}') as HostSetting
const args = ['serve', '--host', '127.0.0.1', '--port', String(port), '--db-path', file]

let dynamodb: ChildProcess
let stopping = false

function start() {
  const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const listen = (text: string) => {
    const before = output.includes('listening on')
    output += text
    if (!before && output.includes('listening on')) process.send?.('listening')
  }
  child.stdout.setEncoding('utf8').on('data', listen)
  child.stderr.setEncoding('utf8').on('data', listen)
  child.on('exit', (_, signal) => {
    if (stopping) return
    if (signal === 'SIGKILL') return start()
    console.error(output)
    process.send?.('failed')
    process.exit(1)
  })
  dynamodb = child
}

process.on('message', () => dynamodb.kill('SIGKILL'))
process.on('disconnect', () => {
  stopping = true
  dynamodb.once('exit', () => process.exit(0))
  dynamodb.kill('SIGKILL')
})
start()
