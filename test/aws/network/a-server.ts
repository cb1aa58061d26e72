import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import type { SdkRequest } from '../../../aws/connections.ts'

export type AServer = {
  readonly port: number
  /** Connections that were ever made, and those that are open now. */
  readonly made: number
  readonly open: ReadonlySet<Socket>
  close(): Promise<void>
}

/** Any server of Node, with its connections counted. */
export async function startServer(server: Server = createServer()): Promise<AServer> {
  const open = new Set<Socket>()
  let made = 0
  server.on('connection', (socket: Socket) => {
    made += 1
    open.add(socket)
    // The other end may break off.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => open.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    get made() {
      return made
    },
    open,
    async close() {
      server.close()
      for (const socket of open) socket.destroy()
      await once(server, 'close')
    },
  }
}

/** As the SDK hands it to its request handler; of the JSON protocol, which DynamoDB speaks. */
export const requestTo = (port: number, more: Partial<SdkRequest> = {}): SdkRequest => ({
  protocol: 'http:',
  hostname: '127.0.0.1',
  port,
  method: 'POST',
  path: '/',
  query: {},
  headers: { 'x-amz-target': 'DynamoDB_20120810.GetItem' },
  body: '{}',
  ...more,
})
