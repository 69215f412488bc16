-- A session of Neovim's own language client with `nvmini lsp`, run by check_clients.py:
--   nvim --headless -u NONE -n FILE -c 'luafile neovim.lua'
-- NVMINI names the command, FILE is kernel.nvir there. Prints a line `NAME: value` for each step.

local function say(name, value)
  io.stdout:write(name .. ": " .. tostring(value):gsub("\n", "|") .. "\n")
end

local buffer = vim.api.nvim_get_current_buf()
local client_id = vim.lsp.start_client({ name = "nvmini", cmd = { os.getenv("NVMINI"), "lsp" }, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(buffer, client_id)
local client = vim.lsp.get_client_by_id(client_id)
vim.wait(20000, function() return client.initialized and vim.lsp.buf_get_clients(buffer)[client_id] ~= nil end, 10)
say("initialized", client.initialized)

local function request(method, line, character, more)
  local params = { textDocument = vim.lsp.util.make_text_document_params(buffer) }
  if line then params.position = { line = line, character = character } end
  for key, value in pairs(more or {}) do params[key] = value end
  local answers = vim.lsp.buf_request_sync(buffer, method, params, 20000)
  return answers and answers[client_id] and answers[client_id].result
end

local function line_count(expected)
  vim.wait(20000, function() return #vim.diagnostic.get(buffer) == expected end, 10)
  return #vim.diagnostic.get(buffer)
end

say("hover", request("textDocument/hover", 4, 3).contents.value)
say("definition", request("textDocument/definition", 5, 13).range.start.line)
say("symbols", request("textDocument/documentSymbol")[1].name)
local lenses = request("textDocument/codeLens")
say("lenses", lenses[1].command.title .. " " .. lenses[2].command.title)

-- An edit with an error: a diagnostic appears; undo: it disappears.
vim.api.nvim_buf_set_lines(buffer, 4, 5, false, { "  %even = and i32 %tt, 6" })
say("diagnostics", line_count(1))
say("message", vim.diagnostic.get(buffer)[1].message)
vim.api.nvim_buf_set_lines(buffer, 4, 5, false, { "      %even = and i32 %t, 6   " })
say("diagnostics", line_count(0))

-- Edits of the server applied by the client: formatting, then renaming.
vim.lsp.util.apply_text_edits(request("textDocument/formatting", nil, nil, { options = { tabSize = 2, insertSpaces = true } }), buffer, "utf-16")
say("formatted", vim.api.nvim_buf_get_lines(buffer, 4, 5, false)[1])
vim.lsp.util.apply_workspace_edit(request("textDocument/rename", 4, 3, { newName = "masked" }), "utf-16")
say("renamed", table.concat(vim.api.nvim_buf_get_lines(buffer, 4, 6, false), "\n"))

-- The lens "run": a finding becomes a diagnostic.
request("workspace/executeCommand", nil, nil, lenses[1].command)
say("finding", line_count(1) == 1 and vim.diagnostic.get(buffer)[1].lnum)
client.stop()
vim.wait(20000, function() return client.is_stopped() end, 10)
say("stopped", client.is_stopped())
vim.cmd("qall!")
