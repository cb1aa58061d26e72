// The page's bundle has the client, and the route handler pushes and pops.
import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'

const chunks = globSync('.next/static/chunks/**/*.js').map((file) => readFileSync(file, 'utf8'))
if (!chunks.some((code) => code.includes('https://queues.example'))) throw new Error('no client in the page')
const server = spawn(process.execPath, ['node_modules/next/dist/bin/next', 'start', '-p', '0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  let said = ''
  const url = await new Promise((resolve, reject) => {
    server.once('exit', () => reject(new Error(said)))
    server.stdout.on('data', (text) => {
      said += text
      const [found] = /http:\/\/localhost:\d+/.exec(said) ?? []
      if (found !== undefined && said.includes('Ready')) resolve(found)
    })
  })
  const answer = await fetch(`${url}/api/push`, { method: 'POST', body: '17' })
  const text = await answer.text()
  if (text !== '[17]') throw new Error(text)
} finally {
  server.kill()
}
