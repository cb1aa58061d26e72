// A store of this machine behind TLS, as AWS's are.

import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { createServer } from 'node:tls'
import { loopbackCertificate, loopbackKey } from './loopback-certificate.ts'

export type TlsFront = { readonly endpoint: string; close(): Promise<void> }

export async function startTlsFront(storeEndpoint: string): Promise<TlsFront> {
  const store = new URL(storeEndpoint)
  const open = new Set<Socket>()
  const server = createServer({ key: loopbackKey, cert: loopbackCertificate }, (client) => {
    const upstream = connect(Number(store.port), store.hostname)
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket)
      socket.pipe(other)
      // That side has hung up.
      socket.on('error', () => other.destroy())
      socket.on('close', () => open.delete(socket))
    }
  })
  // The client reports a connection that ends before TLS is up.
  server.on('tlsClientError', (_, client) => client.destroy())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close()
      for (const socket of open) socket.destroy()
      await once(server, 'close')
    },
  }
}
