import { createClient } from 'pushpop-client'

const queue = createClient({ url: process.env.PUSHPOP_ENDPOINT as string }).queue<number>('bun')
await queue.push(17)
const { items } = await queue.pop()
if (items[0]?.value !== 17) throw new Error(JSON.stringify(items))
