// A consumer that uses what people use: packages that are CommonJS, or have such beneath them.

import axios from 'axios'
import { Redis } from 'ioredis'
import pg from 'pg'
import { consumer } from '../../../lambdas/consumer/index.ts'

export const handler = consumer(() => {})

/** Calls into each of them, without a network. */
export async function tryThem(): Promise<object> {
  const client = new pg.Client({ host: 'db.example', user: 'shop' })
  const api = axios.create({
    baseURL: 'https://api.example',
    adapter: async (config) => {
      const data = { asked: api.getUri(config) }
      return { data, status: 200, statusText: 'OK', headers: {}, config }
    },
  })
  const redis = new Redis({ lazyConnect: true, keyPrefix: 'shop:' })
  const { data } = await api.get('/orders', { params: { id: 17 } })
  const tried = {
    pg: [client.host, client.escapeIdentifier('a"b'), pg.types.getTypeParser(23)('17')],
    axios: data,
    ioredis: [redis.status, redis.options.keyPrefix],
  }
  redis.disconnect()
  return tried
}
