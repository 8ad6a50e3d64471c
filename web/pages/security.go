package pages

import (
	"net/http"
	"strings"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

const formServer = "server"

// serverEditors may edit the rules for other servers.
var serverEditors = []models.Role{models.RoleAdmin, models.RoleFinanceLead}

// showServers is GET /settings/servers: which servers the workspace knows and whose role answers.
func (v *visit) showServers() error { return v.servers(http.StatusOK, refusal{}) }

// addServerRule is POST /settings/servers.
func (v *visit) addServerRule() error {
	typed := v.typed("server_name", "server_url", "tool", "role")
	_, err := v.p.confirm.AddServerRule(v.ctx, v.by, confirm.NewServerRule{ServerName: typed["server_name"], ServerURL: typed["server_url"], Tool: typed["tool"], Role: models.Role(typed["role"])})
	return v.serversChanged(err, formServer, v.tr("The rule was not added"), typed, "server_added")
}

// retireServerRule is POST /settings/servers/{id}/retire.
func (v *visit) retireServerRule() error {
	err := v.p.confirm.RetireServerRule(v.ctx, v.by, v.param("id"))
	return v.serversChanged(err, "retire", v.tr("The rule was not retired"), nil, "server_retired")
}

func (v *visit) serversChanged(err error, form, heading string, typed map[string]string, message string) error {
	if err == nil {
		v.p.say(v.c, message)
		return seeOther(v.c, string(v.link("/settings/servers")))
	}
	r, ok := v.refuse(err, form, heading, typed, nil)
	if !ok {
		return err
	}
	return v.servers(formStatus(err), r)
}

func (v *visit) servers(status int, refused refusal) error {
	rules, err := v.p.confirm.ServerRules(v.ctx, v.by)
	if err != nil {
		return err
	}
	page, err := v.page(v.tr("Servers"), v.link("/settings/servers"), "")
	if err != nil {
		return err
	}
	out := views.ServersPage{Page: page, Tabs: v.settingsTabs("/settings/servers"),
		Lead:  v.tr("Which servers this workspace knows, and whose role answers when one of them asks about a call. A rule for a tool wins over one for any tool; without a rule a finance lead answers."),
		Empty: ui.Empty{Heading: v.tr("This workspace knows no server"), Text: v.tr("Questions of any server are answered by a finance lead, and shown as what the agent reports."), TestID: "empty"}}
	edits := v.by.Has(serverEditors...)
	if !edits {
		out.WhyNot = v.tr("You can read these rules, not change them: that is for finance leads and admins.")
	}
	for _, r := range rules {
		row := views.ServerRuleRow{ID: r.ID, Server: ui.Foreign(r.ServerName), URL: ui.Foreign(r.ServerURL), Tool: ui.Foreign(r.Tool), Role: v.role(r.Role),
			Written: v.author(r.AuthorName) + ", " + v.day(r.CreatedAt)}
		if edits {
			form := v.form(v.link("/settings/servers/" + r.ID + "/retire"))
			row.Retire = &form
		}
		out.Rows = append(out.Rows, row)
	}
	if refused.form == "retire" {
		out.Page.Flashes = append(out.Page.Flashes, ui.Flash{Tone: ui.ToneWarn, Text: v.problem(refused.problems[""])})
	}
	if edits {
		out.Add = v.serverForm(refused.of(formServer))
	}
	return render(v.c, status, views.Servers(out))
}

func (v *visit) serverForm(refused refusal) *views.ServerRuleForm {
	roles := []ui.Option{}
	for _, r := range []models.Role{models.RoleFinanceLead, models.RoleAPLead, models.RoleAPClerk, models.RoleProcurement, models.RoleMasterData} {
		roles = append(roles, ui.Option{Value: string(r), Label: v.role(r)})
	}
	f := &views.ServerRuleForm{Form: v.form(v.link("/settings/servers"))}
	for _, field := range []ui.Field{
		{ID: "s-name", Name: "server_name", Label: v.tr("Server"), Required: true, Hint: v.tr("What people call it.")},
		{ID: "s-url", Name: "server_url", Label: v.tr("Address"), Kind: ui.FieldURL, Required: true, Hint: v.tr("Without a path it stands for every address there."), Placeholder: "https://erp.example.com/mcp"},
		{ID: "s-tool", Name: "tool", Label: v.tr("Tool"), Hint: v.tr("Empty: any that no other rule names.")},
		{ID: "s-role", Name: "role", Label: v.tr("Who answers"), Kind: ui.FieldSelect, Required: true, Options: roles},
	} {
		f.Fields = append(f.Fields, refused.field(field))
	}
	f.Heading, f.Errors = refused.heading, refused.summary(f.Fields...)
	return f
}

// action is one thing that a workspace can forbid; words is a message.
type action struct {
	name, words string
	api, mcp    bool // where it is offered
}

// actionGroups are the actions in the order in which people look for them.
var actionGroups = []struct {
	heading string
	actions []action
}{
	{lang.Mark("Cases"), []action{
		{"route_to_person", lang.Mark("Hand an invoice over to a person"), true, true},
		{"stop_and_escalate", lang.Mark("Stop and escalate"), false, true},
		{"get_case", lang.Mark("Read cases"), true, true},
		{"withdraw_case", lang.Mark("Withdraw a case"), false, true},
	}},
	{lang.Mark("Holds"), []action{
		{"hold_and_recheck", lang.Mark("Hold an invoice for a re-check"), true, true},
		{"list_due_rechecks", lang.Mark("Take the re-checks that are due"), true, true},
		{"report_recheck", lang.Mark("Report what a re-check found"), true, true},
		{"cancel_hold", lang.Mark("Cancel a hold"), false, true},
	}},
	{lang.Mark("Approvals"), []action{
		{"request_approval", lang.Mark("Ask for approval of a write"), true, true},
		{"get_approval", lang.Mark("Read an approval request"), true, true},
		{"withdraw_request", lang.Mark("Withdraw an approval request"), false, true},
		{"redeem_approval", lang.Mark("Spend an approval before a write"), true, true},
		{"report_write", lang.Mark("Report how a write ended"), true, true},
		{"revoke_approval", lang.Mark("Give an approval back"), false, true},
	}},
	{lang.Mark("Confirmations"), []action{
		{confirm.ActionRequest, lang.Mark("Forward another server’s question"), true, true},
		{confirm.ActionGet, lang.Mark("Read where a question stands"), true, true},
		{confirm.ActionTake, lang.Mark("Take an answer"), true, true},
		{confirm.ActionWithdraw, lang.Mark("Withdraw a question"), true, false},
	}},
}

// showSecurity is GET /settings/security: what may be done over which channel.
func (v *visit) showSecurity() error { return v.security(http.StatusOK, refusal{}) }

// setBlock is POST /settings/security with action, channel and blocked, which is yes or no.
func (v *visit) setBlock() error {
	typed := v.typed("action", "channel", "blocked")
	var err error
	message := "blocked"
	switch typed["blocked"] {
	case "yes":
		err = v.p.confirm.Block(v.ctx, v.by, typed["action"], models.Channel(typed["channel"]))
	case "no":
		message = "unblocked"
		err = v.p.confirm.Unblock(v.ctx, v.by, typed["action"], models.Channel(typed["channel"]))
	default:
		err = models.Invalid(models.Issue{Path: "/blocked", Message: "must be yes or no"})
	}
	if err == nil {
		v.p.say(v.c, message)
		return seeOther(v.c, string(v.link("/settings/security")))
	}
	r, ok := v.refuse(err, "block", v.tr("Nothing was changed"), typed, nil)
	if !ok {
		return err
	}
	return v.security(formStatus(err), r)
}

func (v *visit) security(status int, refused refusal) error {
	blocks, err := v.p.confirm.Blocks(v.ctx, v.by)
	if err != nil {
		return err
	}
	title := v.tr("Security")
	if len(blocks) > 0 {
		title = counted(title, len(blocks))
	}
	page, err := v.page(title, v.link("/settings/security"), "")
	if err != nil {
		return err
	}
	out := views.SecurityPage{Page: page, Tabs: v.settingsTabs("/settings/security"),
		Lead: v.tr("When people are asked again that it is them, and what agents and systems may do over which channel. A blocked action is refused with SECURITY_BLOCKED before anything is written; people on these pages are not concerned.")}
	edits := v.by.Has(models.RoleAdmin)
	if !edits {
		out.WhyNot = v.tr("You can read this, not change it: that is for admins.")
	}
	if len(refused.problems) > 0 && refused.form != formStepUp {
		var told []string
		for _, e := range refused.summary() {
			told = append(told, e.Text)
		}
		out.Page.Flashes = append(out.Page.Flashes, ui.Flash{Tone: ui.ToneWarn, Text: v.tr("Nothing was changed.") + " " + strings.Join(told, " ")})
	}
	for _, g := range actionGroups {
		group := views.ActionGroup{Heading: v.tr(g.heading)}
		for _, a := range g.actions {
			group.Rows = append(group.Rows, views.ActionRow{Action: a.name, Words: v.tr(a.words),
				API: v.actionCell(a, models.ChannelAPI, a.api, v.tr("over REST"), blocks, edits), MCP: v.actionCell(a, models.ChannelMCP, a.mcp, v.tr("over MCP"), blocks, edits)})
		}
		out.Groups = append(out.Groups, group)
	}
	if out.Ask, err = v.askAgain(refused.of(formStepUp), edits); err != nil {
		return err
	}
	return render(v.c, status, views.Security(out))
}

func (v *visit) actionCell(a action, channel models.Channel, offered bool, where string, blocks []models.SecurityBlock, edits bool) views.ActionCell {
	c := views.ActionCell{Offered: offered, TestID: a.name + "-" + string(channel)}
	for _, b := range blocks {
		if b.Action == a.name && b.Channel == channel {
			c.Blocked, c.By = true, v.tr("by %s, %s", v.author(b.AuthorName), v.clock(b.CreatedAt))
		}
	}
	if !edits || (!offered && !c.Blocked) {
		return c
	}
	button, blocked := ui.Button{Label: v.tr("Block"), Variant: ui.ButtonQuiet}, "yes"
	if c.Blocked {
		button, blocked = ui.Button{Label: v.tr("Allow"), Variant: ui.ButtonPlain}, "no"
	}
	button.About = a.name + " " + where
	c.Change = &ui.PostForm{URL: templ.SafeURL(v.link("/settings/security")), CSRF: v.csrf, Button: button,
		Hidden: []ui.Hidden{{Name: "action", Value: a.name}, {Name: "channel", Value: string(channel)}, {Name: "blocked", Value: blocked}}}
	return c
}
