import { createClient } from 'pushpop-client'

export async function POST(request: Request) {
  const queue = createClient({ url: process.env.PUSHPOP_ENDPOINT as string }).queue('next')
  await queue.push(await request.json())
  const { items } = await queue.pop()
  return Response.json(items.map(({ value }) => value))
}
