import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { detailTypes } from '../../../../lambdas/runtime/names.ts'
import { eventSchemas, expectDocumented, problemsOf } from './event-schemas.ts'

const docs = join(import.meta.dirname, '../../../../docs')
const page = readFileSync(join(docs, 'events.md'), 'utf8')

describe('The page about events', () => {
  it.each(Object.entries(detailTypes))('names %s and its schema.', (name, detailType) => {
    expect(page).toContain(`| \`${detailType}\` |`)
    expect(page).toContain(`(events/${name}.json)`)
    expect(eventSchemas.get(detailType)?.title).toBe(detailType)
  })

  it('shows an event as it is.', () => {
    const [, json = ''] = /```json\n([\s\S]+?)```/.exec(page) ?? []
    const event = JSON.parse(json)
    expect(event).toMatchObject({ version: '0', source: 'pushpop' })
    expectDocumented(event['detail-type'], event.detail)
  })

  it('leads nowhere that is not there.', () => {
    const links = [...page.matchAll(/\]\(([^)#]+)\)/g)].map(([, link]) => link as string)
    expect(links.length).toBeGreaterThan(4)
    for (const link of links) expect([link, existsSync(join(docs, link))]).toEqual([link, true])
  })
})

describe('A schema', () => {
  const detail = {
    ...{ id: 'a'.repeat(32), queue: 'orders', version: 1, at: '2030-01-01T00:00:00.000Z' },
    ...{ count: 1, locked: 0, priorities: { 0: { count: 1, locked: 0 } } },
  }
  const wrong: readonly [string, object][] = [
    ['a field too many', { ...detail, item: 'secret' }],
    ['a field too few', { ...detail, queue: undefined }],
    ['text for a number', { ...detail, count: '1' }],
    ['an id of another form', { ...detail, id: 'lock' }],
    ['no time', { ...detail, at: 'now' }],
    ['nothing available', { ...detail, count: 0 }],
    ['a priority that is none', { ...detail, priorities: { high: { count: 1, locked: 0 } } }],
    ['an item in a priority', { ...detail, priorities: { 0: { count: 1, locked: 0, item: 1 } } }],
    ['half a fact', { ...detail, more_priorities: false }],
  ]
  it.each(wrong)('refuses a detail with %s.', (_, one) => {
    expect(problemsOf('Items Available', detail)).toEqual([])
    expect(problemsOf('Items Available', JSON.parse(JSON.stringify(one)))).not.toEqual([])
  })
})
