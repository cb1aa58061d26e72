// The settings of prefixes, on both kinds of places.

import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { places, type Started, useFolder, usePlace } from './places.ts'

describe.each(places)('on $name', ({ start }) => {
  const { pushpop } = usePlace<Started>(start)
  const file = useFolder()

  test('patterns are shown, replaced whole, and taken back as they were printed', async () => {
    const path = file('patterns.json')
    const none = await pushpop('queue-config')
    expect(none).toMatchObject({ code: 0, stderr: 'There are no patterns yet.\n' })
    const patterns = [
      { prefix: '', capacity: 10_000 },
      { prefix: 'tenant-7.', max_deliveries: 5, push_limit: { max_requests: 20 } },
      { prefix: 'codes', item_ttl_seconds: 3_600, expired: 'dead_letter' },
    ]
    writeFileSync(path, JSON.stringify({ patterns }))
    const set = await pushpop(['queue-config', 'set', '--file', path, '--yes'])
    expect(set).toMatchObject({ code: 0, stderr: 'Replaced 0 patterns by 3.\n' })
    const shown = await pushpop('queue-config show')
    expect(shown.stdout).toMatch(/tenant-7\. +100 +1 +5 +20 in 1,000 ms/)
    expect(shown.stdout).toMatch(/\(all\) +100 +1 +10,000/)
    expect(shown.stdout).toMatch(/codes +100 +1 +3,600 s +dead_letter/)
    const { stdout } = await pushpop('queue-config show --json')
    writeFileSync(path, stdout)
    const again = await pushpop(['queue-config', 'set', '--file', path, '--yes', '--json'])
    expect(again).toMatchObject({ code: 0, stdout })
  })

  test('a pattern that is wrong is refused with its field, and what is there stays', async () => {
    const path = file('wrong.json')
    writeFileSync(path, '[{"prefix":"x","max_deliveries":0}]')
    const refused = await pushpop(['queue-config', 'set', '--file', path, '--yes'])
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toContain('patterns[0].max_deliveries')
    expect(await pushpop('queue-config show --yes')).toMatchObject({ code: 2 })
  })
})
