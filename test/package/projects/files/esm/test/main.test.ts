import { expect, it } from 'vitest'
import { work } from '../src/main.js'

it('pushes and pops', async () => {
  expect(await work(process.env.PUSHPOP_ENDPOINT as string)).toEqual([17])
})
