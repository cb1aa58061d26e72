import { createClient } from 'pushpop-client'

const queue = createClient({ url: Deno.env.get('PUSHPOP_ENDPOINT') ?? '' }).queue<number>('deno')
await queue.push(17)
const { items } = await queue.pop()
if (items[0]?.value !== 17) throw new Error(JSON.stringify(items))
