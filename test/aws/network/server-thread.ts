// A server in a thread of its own, which goes on while the client's thread is blocked. It does what it
// is told, and counts up when it has.

import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

export type Told = 'answer' | 'end'
export type Tells = { readonly port: number } | 'asked'

const done = new Int32Array(workerData as SharedArrayBuffer)
const tell = (what: Tells) => parentPort?.postMessage(what)

let connection: Socket | undefined
let waiting: ServerResponse | undefined

const server = createServer((_, response) => {
  waiting = response
  tell('asked')
})
server.on('connection', (socket) => {
  connection = socket
})

function count(): void {
  Atomics.add(done, 0, 1)
  Atomics.notify(done, 0)
}

parentPort?.on('message', (told: Told) => {
  if (told === 'answer') waiting?.end('answer', count)
  else connection?.destroy().once('close', count)
})
server.listen(0, '127.0.0.1', () => tell({ port: (server.address() as AddressInfo).port }))
