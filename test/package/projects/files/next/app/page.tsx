'use client'
import { createClient } from 'pushpop-client'

export default function Page() {
  const order = () => createClient({ url: 'https://queues.example' }).queue('orders').push({ order: 17 })
  return <button onClick={order}>Order</button>
}
