//! The form of a message in each chat. Texts stand only where the chat takes them for plain text, or with its escape.

use serde_json::{Value, json};

use super::news::{News, cut};

/// Characters that every chat takes in one text.
const TEXT: usize = 2_500;
/// Of a headline.
const LINE: usize = 140;

/// api.slack.com, "Block Kit": a `plain_text` object has no mentions and no links; only the fallback `text` is read as markup, with `&`,
/// `<` and `>` escaped ("Formatting text for app surfaces").
pub(super) fn slack(news: &News) -> Value {
    let plain = |text: String| json!({ "type": "plain_text", "text": text, "emoji": false });
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut blocks = vec![
        json!({ "type": "header", "text": plain(cut(&news.title(), LINE)) }),
        json!({ "type": "section", "text": plain(news.text(TEXT)) }),
    ];
    if let Some(place) = news.place() {
        blocks.push(json!({ "type": "context", "elements": [plain(cut(&place, LINE))] }));
    }
    if let Some(url) = &news.url {
        let button = json!({ "type": "button", "text": plain("Open the run".to_owned()), "url": url });
        blocks.push(json!({ "type": "actions", "elements": [button] }));
    }
    json!({ "text": escaped(&cut(&format!("{}: {}", news.title(), news.headline), TEXT)), "blocks": blocks })
}

/// learn.microsoft.com, "Create incoming webhooks with Workflows": an adaptive card. A `TextRun` knows no Markdown.
pub(super) fn teams(news: &News) -> Value {
    let run = |text: String, more: Value| {
        let mut run = json!({ "type": "TextRun", "text": text });
        if let (Some(run), Value::Object(more)) = (run.as_object_mut(), more) {
            run.extend(more);
        }
        json!({ "type": "RichTextBlock", "inlines": [run] })
    };
    let mut body = vec![run(cut(&news.title(), LINE), json!({ "weight": "Bolder", "size": "Medium" }))];
    body.extend(news.text(TEXT).lines().map(|line| run(line.to_owned(), json!({}))));
    body.extend(news.place().map(|place| run(cut(&place, LINE), json!({ "isSubtle": true }))));
    let open = |url: &String| json!({ "type": "Action.OpenUrl", "title": "Open the run", "url": url });
    let content = json!({
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
        "actions": news.url.iter().map(open).collect::<Vec<Value>>(),
    });
    let card =
        json!({ "contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": null, "content": content });
    json!({ "type": "message", "attachments": [card] })
}

/// open.feishu.cn, "Custom bot usage guide": a post, whose `text` elements are plain (in a plain text message `<at …>` would mention).
pub(super) fn feishu(news: &News) -> Value {
    let text = |line: &str| json!([{ "tag": "text", "text": line }]);
    let mut content: Vec<Value> = news.text(TEXT).lines().map(text).collect();
    content.extend(news.place().map(|place| text(&cut(&place, LINE))));
    content.extend(news.url.iter().map(|url| json!([{ "tag": "a", "text": "Open the run", "href": url }])));
    let post = json!({ "title": cut(&news.title(), LINE), "content": content });
    json!({ "msg_type": "post", "content": { "post": { "en_us": post.clone(), "zh_cn": post } } })
}

/// open.dingtalk.com, "Custom robots": a plain text message; who is mentioned stands in `at` alone.
pub(super) fn dingtalk(news: &News) -> Value {
    let mut lines = vec![cut(&news.title(), LINE), news.text(TEXT)];
    lines.extend(news.place().map(|place| cut(&place, LINE)));
    lines.extend(news.url.clone());
    json!({
        "msgtype": "text",
        "text": { "content": lines.join("\n") },
        "at": { "atMobiles": [], "atUserIds": [], "isAtAll": false },
    })
}

/// What a webhook without a body of its own gets.
pub(super) fn plain(news: &News) -> Value {
    let News { suite, verdict, exit_code, headline, details, url, commit, branch, drifted } = news;
    json!({
        "suite": suite, "verdict": verdict, "exit_code": exit_code, "headline": headline, "details": details,
        "drifted": drifted, "url": url, "commit": commit, "branch": branch,
    })
}
